/** CLIENT-5, CLIENT-8, CLIENT-9, CLIENT-10: the outcome of an intent, and the client's report of it. */
import {
  type Exchange,
  isAccepted,
  isUnresolved,
  messageIdOf,
  refusedForGood,
  requestIdOf,
  senderOf,
  wasKnownTo,
} from './exchange.ts';
import { clearAttempts, type Intent, isAttributable, lastOf } from './intents.ts';
import type { Report } from './intents-file.ts';
import {
  type ClientRecord,
  consecutive,
  type Finding,
  finding,
  grouped,
  type Judgement,
  type Judges,
} from './record.ts';

export const outcomes: Judges = {
  'CLIENT-5': sendsOnce,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-9': givesNothingUp,
  'CLIENT-10': reportsTruthfully,
};

function sendsOnce({ intents }: ClientRecord): Judgement {
  const judged = intents.all.map(clearAttempts).filter(({ length }) => length > 0);
  const findings = judged.flatMap((attempts) => {
    const accepted = messagesOf(attempts);
    if (accepted.length < 2) return [];
    const ids = accepted.map((one) => messageIdOf(one) ?? 'no message_id').join(', ');
    const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
    return [finding(what, ...accepted)];
  });
  return { exercised: judged.length, findings };
}

/**
 * The first acceptance of each message: each 202, and a 200 that shows a message which no 202 made.
 * A garbled 202 does not say which message it made; it may be that one.
 */
function messagesOf(attempts: readonly Exchange[]): readonly Exchange[] {
  const created = firstOfEach(attempts.filter(({ status }) => status === 202));
  const known = new Set(created.map(messageIdOf));
  const unknown = created.filter((one) => messageIdOf(one) === undefined).length;
  const replays = attempts.filter((one) => one.status === 200 && messageIdOf(one) !== undefined);
  const shown = firstOfEach(replays).filter((one) => !known.has(messageIdOf(one)));
  return [...created, ...shown.slice(unknown)];
}

/** The first of each `message_id`, and all that have none. */
function firstOfEach(accepted: readonly Exchange[]): readonly Exchange[] {
  const ids = accepted.map(messageIdOf);
  return accepted.filter((_, at) => ids[at] === undefined || ids.indexOf(ids[at]) === at);
}

function acceptsRefusals({ exchanges }: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen }: Exchange) => isSeen && refusedForGood.includes(status);
  const exercised = exchanges.filter(isFinal).length;
  if (exercised === 0) return { exercised, findings: [] };
  const repeats = [
    ...consecutive(exchanges, ({ caller, credential, method, target, text }) =>
      [caller, credential, method, target, text].join('\n'),
    ),
  ].filter(
    ([refused, later]) =>
      isFinal(refused) &&
      wasKnownTo(later, refused) &&
      !isNextMonth(refused, later) &&
      // What the client was refused for had been put right.
      !(later.status >= 200 && later.status < 300),
  );
  return {
    exercised,
    findings: repeats.map(([refused, again]) =>
      finding(
        `the same request came again after a ${refused.status}, which is final: correct the request, or stop`,
        refused,
        again,
      ),
    ),
  };
}

/** A quota starts again. */
function isNextMonth(refused: Exchange, later: Exchange): boolean {
  const monthOf = ({ atMs }: Exchange) => new Date(atMs).toISOString().slice(0, 7);
  return refused.status === 402 && monthOf(refused) !== monthOf(later);
}

function givesNothingUp({ intents, isPartial, reports }: ClientRecord): Judgement {
  if (isPartial) return { exercised: 0, findings: [] };
  const met = intents.all.filter((one) => isAttributable(one) && one.attempts.some(isUnresolved));
  const open = met.filter((intent) => !isSettled(intent) && !isReported(intent, reports));
  return {
    exercised: met.length,
    findings: open.map((intent) => {
      const last = lastOf(intent);
      const cause = last.isSeen ? `a ${last.status}` : 'a reply that the client did not see';
      return finding(
        `the message was given up after ${cause}: retry it under the same request_id, or report it as failed`,
        last,
      );
    }),
  };
}

/** True if the client saw an acceptance or a final refusal. */
function isSettled(intent: Intent): boolean {
  return (
    intent.attempts.some((one) => one.isSeen && isAccepted(one)) || !isUnresolved(lastOf(intent))
  );
}

/** True if the client reported an outcome; CLIENT-10 judges whether it is the right one. */
function isReported(intent: Intent, reports: ClientRecord['reports']): boolean {
  return (reports ?? []).some(
    ({ reported, ...own }) => reported !== undefined && isOf(own, intent),
  );
}

/**
 * Reports with a `request_id` are judged one by one. Those without are counted: equal messages cannot
 * be told apart.
 */
function reportsTruthfully({
  exchanges,
  intents,
  isPartial,
  reports = [],
  endsUndelivered,
}: ClientRecord): Judgement {
  if (isPartial) return { exercised: 0, findings: [] };
  const isLost = (id: string | undefined) =>
    id !== undefined && (endsUndelivered?.(id) === true || wasReadAsFailed(id, exchanges));
  const groups = grouped(reports, (report) => report.request_id ?? contentOfReport(report));
  return {
    exercised: reports.filter(({ reported }) => reported !== undefined).length,
    findings: [...groups.values()].flatMap((group) => untruths(group, intents.all, isLost)),
  };
}

function untruths(
  group: readonly Report[],
  all: readonly Intent[],
  isLost: (messageId: string | undefined) => boolean,
): readonly Finding[] {
  const attempts = all
    .filter((intent) => group.some((report) => isOf(report, intent)))
    .flatMap((one) => one.attempts);
  const accepted = messagesOf(attempts);
  const living = accepted.filter((one) => !isLost(messageIdOf(one)));
  const saidAccepted = group.filter(({ reported }) => reported === 'accepted');
  const saidFailed = group.filter(({ reported }) => reported === 'failed');
  const findings: Finding[] = [];
  const count = accepted.length > 0 ? `only ${accepted.length} such` : 'no such';
  const noun = accepted.length > 1 ? 'messages' : 'message';
  for (const { intent } of saidAccepted.slice(accepted.length)) {
    const what = `${intent} was reported as accepted, but the service accepted ${count} ${noun}: report what the reply says`;
    findings.push(finding(what, ...attempts));
  }
  const mayLive = group.length - saidFailed.length;
  if (living.length > mayLive) {
    for (const { intent } of saidFailed.slice(0, living.length - mayLive)) {
      const what = `${intent} was reported as failed, but the service accepted it: retry under the same request_id to learn what became of it`;
      findings.push(finding(what, ...living));
    }
  }
  return findings;
}

/** The last status that the client read of the message is `failed`. */
function wasReadAsFailed(messageId: string, exchanges: readonly Exchange[]): boolean {
  const read = exchanges.findLast(
    (one) => one.endpoint === 'read' && messageIdOf(one) === messageId && one.status === 200,
  );
  return read?.reply?.['status'] === 'failed';
}

/** By `request_id` where both have one, else by content. */
function isOf(report: Report, { attempts }: Intent): boolean {
  return attempts.some((one) => {
    const id = requestIdOf(one);
    if (report.request_id !== undefined && id !== undefined) return report.request_id === id;
    return contentOfReport(report) === contentOfSend(one);
  });
}

function contentOfReport({ to, from, message }: Report): string {
  return JSON.stringify([to, from, message]);
}

function contentOfSend(send: Exchange): string {
  return JSON.stringify([send.body?.['to'], senderOf(send), send.body?.['message']]);
}
