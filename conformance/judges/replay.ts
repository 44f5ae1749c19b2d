/**
 * Judges the reuse of a `request_id`. Rule: SEND-4. Within 24 hours it is answered 200 with the bytes
 * of the first 202, and no second message exists.
 */
import * as verify from '../verify.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isSend,
  isUncertain,
  messageIdOf,
} from './exchange.ts';
import { type Findings, type Judge, slackOf, type Trace } from './judge.ts';
import { validityOf } from './validity.ts';

const windowMs = 86_400_000;

function requestIdOf({ fields }: Exchange): string | undefined {
  const value = fields?.['request_id'];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** True if both belong to one `request_id` of one account, on the same endpoint and key. */
function sharesId(one: Exchange, other: Exchange): boolean {
  const id = requestIdOf(one);
  return (
    id !== undefined &&
    id === requestIdOf(other) &&
    one.caller.account === other.caller.account &&
    one.path === other.path &&
    // `replayScope` leaves open whether keys share ids.
    one.headers['authorization'] === other.headers['authorization']
  );
}

/** An earlier send with the same `request_id`, whatever its answer. */
export function earlierUse({ log }: Trace, one: Exchange): Exchange | undefined {
  if (requestIdOf(one) === undefined) return undefined;
  return log.find((other) => other !== one && other.sentAt <= one.sentAt && sharesId(one, other));
}

/** The 202 that a replay must repeat: the latest before it, or one that was sent at the same time. */
function originalOf(trace: Trace, one: Exchange): Exchange | undefined {
  const accepted = trace.log.filter(
    (other) => other !== one && other.reply.status === 202 && sharesId(one, other),
  );
  const before = accepted.filter(({ sentAt }) => sentAt <= one.answeredAt);
  return before.findLast(({ answeredAt }) => answeredAt <= one.sentAt) ?? before[0];
}

function hasSameContent(one: Exchange, other: Exchange): boolean {
  return one.body === other.body;
}

const replays: Judge = (trace, findings) => {
  for (const one of trace.exchanges) {
    if (!isMessageSend(one) || one.caller.key !== 'valid' || requestIdOf(one) === undefined)
      continue;
    if ([0, 429].includes(one.reply.status)) continue;
    const original = originalOf(trace, one);
    const isFirst = original === undefined || wasRefusedBefore(trace, one, original);
    // An id may have been used before the recording, or in a line that is missing.
    if (isFirst && trace.recorded !== undefined) {
      if (one.reply.status === 200) isOfItsId(one, findings);
      continue;
    }
    if (isFirst) judgeFirstUse(trace, one, findings);
    else judgeReplay(trace, one, original, findings);
  }
  noSecondMessage(trace, findings);
};

/** A refusal of another body that came before the message; with exact times both are at one time. */
function wasRefusedBefore({ log }: Trace, one: Exchange, original: Exchange): boolean {
  const isRefusal = one.reply.status >= 400 && !hasSameContent(one, original);
  return isRefusal && log.indexOf(one) < log.indexOf(original);
}

/** The first use of an id creates a message, unless the send is refused for another reason. */
function judgeFirstUse(trace: Trace, one: Exchange, findings: Findings): void {
  const { reply, sender } = one;
  const { invalid } = validityOf(one, trace.hasExactTimes);
  const isUsed = earlierUse(trace, one) !== undefined;
  const mayBeRefused = [400, 402, 403, 503].includes(reply.status) || sender?.is !== 'own';
  // The 202 may have been lost with its connection.
  const mayBeKnown = trace.log.some(
    (other) =>
      isUncertain(other) &&
      requestIdOf(other) === requestIdOf(one) &&
      other.caller.account === one.caller.account,
  );
  if (reply.status === 202 && isUsed) findings.exercised += 1;
  if (reply.status === 202 || mayBeKnown) return;
  findings[isUsed ? 'judge' : 'require']([one], () => {
    verify.that(reply.status !== 200, 'no replay of a request_id that was not accepted', reply);
    if (!isUsed && !mayBeRefused && invalid.length === 0) verify.accepted(reply);
  });
}

function judgeReplay(trace: Trace, one: Exchange, original: Exchange, findings: Findings): void {
  const { reply } = one;
  const ageMs = one.sentAt - original.answeredAt;
  const slackMs = slackOf(trace);
  if (ageMs > windowMs + slackMs) {
    const isNew = messageIdOf(one) !== messageIdOf(original);
    findings.judge([original, one], () => {
      // In a recording another message may have taken the id meanwhile; the first one is gone.
      if (trace.recorded === undefined) verify.accepted(reply);
      verify.that(isNew, 'a new message_id after 24 hours', reply);
    });
    return;
  }
  if (one.answeredAt - original.sentAt >= windowMs - slackMs) return;
  if (trace.recorded !== undefined && mayBeEarlier(one, original, slackMs)) return;
  if (one.isRetried && reply.status === 202) return;
  const isAnother = !hasSameContent(one, original);
  const { invalid, open } = validityOf(one, trace.hasExactTimes);
  // A service may validate before it looks for a replay (`gateOrder`); another body may be a
  // conflict (`replayDifferentBody`). After slow replies a `send_at` is not surely past.
  if (reply.status === 400 && (invalid.length > 0 || open.includes('send_at'))) {
    if (isAnother || trace.recorded !== undefined || validatesFirst(trace)) {
      if (!isAnother)
        findings.lack('a target that looks for a replay before it validates (gateOrder)');
      return;
    }
  }
  if (isAnother && reply.status === 409) return;
  findings.judge([original, one], () => {
    verify.status(reply, 200);
    verify.identical(reply, original.reply, 'the original 202 body');
  });
}

/** Whatever came before, a replay shows the message of its own id. */
function isOfItsId(one: Exchange, findings: Findings): void {
  const { request_id: shown } = bodyOf(one);
  findings.require([one], () => verify.equal('request_id of a replay', shown, requestIdOf(one)));
}

/** A refusal may have come first, or while the message was being accepted. */
function mayBeEarlier({ reply, sentAt }: Exchange, original: Exchange, slackMs: number): boolean {
  return reply.status >= 400 && sentAt < original.answeredAt + slackMs;
}

/** True if an invalid body under a used `request_id` was refused, or if the target says so. */
function validatesFirst(trace: Trace): boolean {
  return (
    trace.assumption('gateOrder') === 'validate_first' ||
    trace.exchanges.some((one) => {
      const original = isMessageSend(one) ? originalOf(trace, one) : undefined;
      return (
        original !== undefined &&
        !hasSameContent(one, original) &&
        one.reply.status === 400 &&
        validityOf(one, trace.hasExactTimes).invalid.length > 0
      );
    })
  );
}

/** As many messages exist as ids were given out, and no task appears twice. */
function noSecondMessage(trace: Trace, findings: Findings): void {
  const { listings, log, exchanges } = trace;
  for (const { account, messages, after } of listings) {
    const sends = log
      .slice(0, after)
      .filter((one) => one.caller.account === account && isSend(one));
    if (sends.some(({ reply }) => reply.status === 0)) continue;
    const ids = new Set(sends.filter(isAccepted).map(messageIdOf));
    findings.judge(exchanges.slice(-1), () =>
      verify.equal('messages of the account', messages, ids.size),
    );
  }
  const replayed = exchanges.filter((one) => isMessageSend(one) && one.reply.status === 200);
  for (const tasks of exchanges.filter(({ endpoint }) => endpoint === 'tasks'))
    for (const one of replayed) {
      const text = verify.textOf(one.fields?.['message']);
      const times = tasks.reply.text.split(text).length - 1;
      if (isUnique(text) && times > 0)
        findings.judgeThat([one, tasks], times === 1, 'one task for the message');
    }
}

/** True for a text that the harness made for one message. */
function isUnique(text: string): boolean {
  return /^conformance .+/.test(text);
}

/** What was refused with one of these statuses is neither queued nor replayed. */
export function notQueued(trace: Trace, findings: Findings, statuses: readonly number[]): void {
  // An id that was refused may have been used before, or meanwhile.
  if (trace.recorded !== undefined) return;
  const refused = trace.exchanges.filter(
    (one) => isSend(one) && statuses.includes(one.reply.status) && !isUncertain(one),
  );
  if (refused.length === 0) return;
  noSecondMessage(trace, findings);
  for (const one of refused) {
    const text = verify.textOf(one.fields?.['message']);
    for (const tasks of trace.exchanges)
      if (tasks.endpoint === 'tasks' && isUnique(text))
        findings.judgeThat(
          [one, tasks],
          !tasks.reply.text.includes(text),
          'no task for a refused send',
        );
    const again = trace.exchanges.find(
      (other) => other.sentAt >= one.answeredAt && other !== one && sharesId(one, other),
    );
    const isKnown = again !== undefined && originalOf(trace, again) !== undefined;
    const expected = `no replay of a send that was answered ${one.reply.status}`;
    if (again !== undefined && !isUncertain(again) && !isKnown)
      findings.judgeThat([one, again], again.reply.status !== 200, expected);
  }
}

export const replayJudges = { 'SEND-4': replays } as const;
