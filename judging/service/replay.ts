/**
 * Judges the reuse of a `request_id`. Rule: SEND-4. Within 24 hours, a second send with the same id
 * is a replay: it is answered 200 with the bytes of the original, the first 202, and creates no
 * message. Judges of refusals use `judgeNotQueued`: a refused send has no replay and no message.
 */
import { conflictStatuses } from '#contract/refusals.ts';
import { dayMs } from '#contract/time.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isSend,
  isUncertain,
  messageIdOf,
  requestIdOf,
  tasksIn,
} from '../evidence/exchange.ts';
import * as verify from './expectations.ts';
import { type Findings, spanErrorOf, type Trace } from './judge.ts';
import { validityOf } from './validity.ts';

/** Statuses that show nothing of a replay: no reply came, or the limit was reached. */
const undecided: readonly number[] = [0, 429];

export const replayJudges = { 'SEND-4': judgeReplays } as const;

function judgeReplays(trace: Trace, findings: Findings): void {
  for (const send of trace.exchanges) {
    const hasId = isMessageSend(send) && requestIdOf(send) !== undefined;
    if (!hasId || send.caller.key !== 'valid' || undecided.includes(send.reply.status)) continue;
    const original = originalOf(trace, send);
    const isReplay = original !== undefined && !isRefusalBefore(trace, send, original);
    if (isReplay) judgeReplay(trace, send, original, findings);
    else if (trace.recorded === undefined) judgeFirstUse(trace, send, findings);
    else judgeWithoutOriginal(send, findings);
  }
  judgeNoSecondMessage(trace, findings);
}

/**
 * The 202 that a replay must repeat: the last one that was answered before the replay was sent, or
 * else the first one that was sent before the replay was answered.
 */
function originalOf({ log }: Trace, replay: Exchange): Exchange | undefined {
  const accepted = log.filter(
    (send) =>
      send !== replay &&
      send.reply.status === 202 &&
      send.sentAt <= replay.answeredAt &&
      sharesId(replay, send),
  );
  return accepted.findLast(({ answeredAt }) => answeredAt <= replay.sentAt) ?? accepted[0];
}

/** True if both have one id, key and endpoint: ids may be separate for each key and endpoint. */
function sharesId(send: Exchange, other: Exchange): boolean {
  const id = requestIdOf(send);
  return (
    id !== undefined &&
    id === requestIdOf(other) &&
    send.caller.account === other.caller.account &&
    send.path === other.path &&
    // Whether the keys of an account share ids is open (`replayScope`).
    send.headers['authorization'] === other.headers['authorization']
  );
}

/**
 * An earlier send with the same `request_id`. Not one that was surely refused before its body was
 * read: that uses up no id (`failedRequestId`), or no wait would be long enough (ERR-3).
 */
export function earlierUse(trace: Trace, send: Exchange): Exchange | undefined {
  return earlierSend(trace, send, (each) => !isUnread(each));
}

/**
 * True for a 200 to a `request_id` that the account has used with another key or endpoint: whether
 * that is one id is open (`replayScope`, `replayAcrossEndpoints`).
 */
export function repeatsAnother({ log }: Trace, send: Exchange): boolean {
  const id = requestIdOf(send);
  const isOfAccount = (each: Exchange) =>
    each !== send && isAccepted(each) && each.caller.account === send.caller.account;
  return (
    send.reply.status === 200 &&
    id !== undefined &&
    log.some((each) => requestIdOf(each) === id && isOfAccount(each) && !sharesId(send, each))
  );
}

function earlierSend(
  { log }: Trace,
  send: Exchange,
  isMeant: (each: Exchange) => boolean,
): Exchange | undefined {
  if (requestIdOf(send) === undefined) return undefined;
  const isEarlier = (each: Exchange) => each !== send && each.sentAt <= send.sentAt;
  return log.find((each) => isEarlier(each) && sharesId(send, each) && isMeant(each));
}

/** Statuses of the checks of the key and the limit, which come before the body in every order. */
const unreadStatuses: readonly number[] = [401, 429];

function isUnread(send: Exchange): boolean {
  return unreadStatuses.includes(send.reply.status) && !isUncertain(send);
}

/**
 * True for a refusal of another body before the original: times may be equal, so the log decides.
 */
function isRefusalBefore({ log }: Trace, send: Exchange, original: Exchange): boolean {
  const isRefusal = send.reply.status >= 400 && send.body !== original.body;
  return isRefusal && log.indexOf(send) < log.indexOf(original);
}

/**
 * Judges a send whose `request_id` has no accepted message: it is no replay. Only a send after a
 * refusal exercises the rule; a first use does not.
 */
function judgeFirstUse(trace: Trace, send: Exchange, findings: Findings): void {
  const { reply, sender } = send;
  const { invalid } = validityOf(send, trace);
  const wasRefused = earlierUse(trace, send) !== undefined;
  const isSentAgain = earlierSend(trace, send, () => true) !== undefined;
  const mayBeRefused = [400, 402, 403, 503].includes(reply.status) || sender?.is !== 'own';
  // A connection may have broken before its 202 arrived.
  const mayBeReplay = trace.log.some(
    (other) =>
      isUncertain(other) &&
      requestIdOf(other) === requestIdOf(send) &&
      other.caller.account === send.caller.account,
  );
  if (reply.status === 202 && isSentAgain) findings.exercised += 1;
  if (reply.status === 202 || mayBeReplay) return;
  findings.require(isSentAgain, [send], () => {
    verify.that(reply.status !== 200, 'no replay of a request_id that was not accepted', reply);
    if (!wasRefused && !mayBeRefused && invalid.length === 0) verify.accepted(reply);
  });
}

function judgeReplay(trace: Trace, send: Exchange, original: Exchange, findings: Findings): void {
  const { reply } = send;
  const isRecorded = trace.recorded !== undefined;
  const errorMs = spanErrorOf(trace);
  if (send.sentAt - original.answeredAt > dayMs + errorMs) {
    judgeExpiredId(trace, send, original, findings);
    return;
  }
  // At the 24-hour border either answer is right.
  const mayBeExpired = send.answeredAt - original.sentAt >= dayMs - errorMs;
  // The refusal may have come before the message was accepted.
  const mayBeEarlier = isRecorded && reply.status >= 400 && send.sentAt < original.answeredAt;
  // A retried send may itself have created the message.
  const isAcceptedRetry = send.isRetried && reply.status === 202;
  if (mayBeExpired || mayBeEarlier || isAcceptedRetry) return;
  if (send.body !== original.body) {
    // Another body may be a conflict (`replayDifferentBody`) or be validated (`gateOrder`).
    if (conflictStatuses.includes(reply.status) || isRefusedByValidation(trace, send)) return;
  } else if (isRefusedByValidation(trace, send) && (isRecorded || validatesFirst(trace))) {
    findings.lack('a target that looks for a replay before it validates (gateOrder)');
    return;
  }
  findings.judge([original, send], () => {
    verify.status(reply, 200);
    verify.identical(reply, original.reply, 'the original 202 body');
  });
}

function judgeExpiredId(
  { recorded }: Trace,
  send: Exchange,
  original: Exchange,
  findings: Findings,
): void {
  findings.judge([original, send], () => {
    // In a recording, a message that is missing may have taken the id meanwhile.
    if (recorded === undefined) verify.accepted(send.reply);
    const isNew = messageIdOf(send) !== messageIdOf(original);
    verify.that(isNew, 'a new message_id after 24 hours', send.reply);
  });
}

/** True for a 400 that the send's fields explain; a `send_at` may have passed before the reply. */
function isRefusedByValidation(trace: Trace, send: Exchange): boolean {
  const { invalid, open } = validityOf(send, trace);
  return send.reply.status === 400 && (invalid.length > 0 || open.includes('send_at'));
}

/** True if the target says so, or refused an invalid body under a used `request_id`. */
function validatesFirst(trace: Trace): boolean {
  if (trace.assumption('gateOrder') === 'validate_first') return true;
  return trace.exchanges.some((send) => {
    const original = isMessageSend(send) ? originalOf(trace, send) : undefined;
    return (
      original !== undefined &&
      send.body !== original.body &&
      send.reply.status === 400 &&
      validityOf(send, trace).invalid.length > 0
    );
  });
}

/** A recording may lack the original. Then a replay must at least show its own `request_id`. */
function judgeWithoutOriginal(send: Exchange, findings: Findings): void {
  if (send.reply.status !== 200) return;
  const { request_id: shown } = bodyOf(send);
  findings.alsoRequire([send], () =>
    verify.equal('request_id of a replay', shown, requestIdOf(send)),
  );
}

/** Requires one message for each accepted id, and that no message is handed out twice. */
function judgeNoSecondMessage(trace: Trace, findings: Findings): void {
  const { listings, log, exchanges } = trace;
  // A list lacks what the service has forgotten since.
  const mayForget = typeof trace.assumption('messageRetention') === 'number';
  for (const { account, messages, after } of listings) {
    const sends = log.slice(0, after).filter((each) => each.caller.account === account);
    if (sends.some((each) => isSend(each) && each.reply.status === 0)) continue;
    const accepted = sends.filter((each) => isSend(each) && isAccepted(each));
    const messageIds = new Set(accepted.map(messageIdOf));
    const expected = mayForget ? Math.min(messages, messageIds.size) : messageIds.size;
    findings.judge(exchanges.slice(-1), () =>
      verify.equal('messages of the account', messages, expected),
    );
  }
  const replays = exchanges.filter((send) => isMessageSend(send) && send.reply.status === 200);
  for (const tasks of tasksIn(exchanges)) {
    for (const send of replays) {
      const text = verify.textOf(send.fields?.['message']);
      const count = tasks.reply.text.split(text).length - 1;
      if (isUnique(text) && count > 0)
        findings.judgeThat([send, tasks], count === 1, 'one task for the message');
    }
  }
}

/** True for a text that the harness made for one message. */
function isUnique(text: string): boolean {
  return /^conformance .+/.test(text);
}

/** Requires that sends refused with one of these statuses are neither queued nor replayed. */
export function judgeNotQueued(
  trace: Trace,
  findings: Findings,
  statuses: readonly number[],
): void {
  // A recording may lack an earlier or simultaneous use of the id that was accepted.
  if (trace.recorded !== undefined) return;
  const refused = trace.exchanges.filter(
    (send) => isSend(send) && statuses.includes(send.reply.status) && !isUncertain(send),
  );
  if (refused.length === 0) return;
  judgeNoSecondMessage(trace, findings);
  for (const send of refused) {
    const text = verify.textOf(send.fields?.['message']);
    for (const tasks of isUnique(text) ? tasksIn(trace.exchanges) : []) {
      const isHandedOut = tasks.reply.text.includes(text);
      findings.judgeThat([send, tasks], !isHandedOut, 'no task for a refused send');
    }
    const next = trace.exchanges.find(
      (other) => other.sentAt >= send.answeredAt && other !== send && sharesId(send, other),
    );
    if (next === undefined || isUncertain(next) || originalOf(trace, next) !== undefined) continue;
    const expected = `no replay of a send that was answered ${send.reply.status}`;
    findings.judgeThat([send, next], next.reply.status !== 200, expected);
  }
}
