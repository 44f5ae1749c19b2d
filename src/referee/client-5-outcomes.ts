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
import { IntentNames } from './intent-names.ts';
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
    return [finding(what, accepted)];
  });
  return { exercised: judged.length, findings };
}

/**
 * The first acceptance of each message: each 202, and a 200 that shows a message which no 202 made.
 * A garbled 202 does not say which message it made; such a 200 takes its place.
 */
function messagesOf(attempts: readonly Exchange[]): readonly Exchange[] {
  const created = firstOfEach(attempts.filter(({ status }) => status === 202));
  const known = new Set(created.map(messageIdOf));
  const unknown = created.filter((one) => messageIdOf(one) === undefined);
  const replays = attempts.filter((one) => one.status === 200 && messageIdOf(one) !== undefined);
  const shown = firstOfEach(replays).filter((one) => !known.has(messageIdOf(one)));
  const named = created.filter((one) => messageIdOf(one) !== undefined);
  return [...named, ...unknown.slice(shown.length), ...shown];
}

/** The first of each `message_id`, and all that have none. */
function firstOfEach(accepted: readonly Exchange[]): readonly Exchange[] {
  const known = new Set<string>();
  return accepted.filter((one) => {
    const id = messageIdOf(one);
    const isFirst = id === undefined || !known.has(id);
    if (id !== undefined) known.add(id);
    return isFirst;
  });
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
        [refused, again],
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
  const reported = (reports ?? []).filter(({ reported: outcome }) => outcome !== undefined);
  const names = new IntentNames(reports);
  const told = new Set(reported.length > 0 ? matching(reported, indexOf(intents.all, names)) : []);
  const open = met.filter((intent) => !isSettled(intent) && !told.has(intent));
  return {
    exercised: met.length,
    findings: open.map((intent) => {
      const last = lastOf(intent);
      const cause = last.isSeen ? `a ${last.status}` : 'a reply that the client did not see';
      return finding(
        `the message was given up after ${cause}: retry it under the same request_id, or report it as failed, ` +
          'in the intents file (--intents FILE) or in toPassReferee({ intents })',
        [last],
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
  if (isPartial || reports.length === 0) return { exercised: 0, findings: [] };
  const read = lastReads(exchanges);
  const fates: Fates = {
    isLost: (id) =>
      id !== undefined && (endsUndelivered?.(id) === true || read.get(id) === 'failed'),
    lastRead: (id) => read.get(id ?? ''),
  };
  const index = indexOf(intents.all, new IntentNames(reports));
  const groups = grouped(reports, (report) => report.request_id ?? contentOfReport(report));
  return {
    exercised: reports.filter(({ reported }) => reported !== undefined).length,
    findings: [...groups.values()].flatMap((group) =>
      untruths(group, matching(group, index), fates),
    ),
  };
}

/** What became of a message. */
interface Fates {
  readonly isLost: (messageId: string | undefined) => boolean;
  /** The status that the client read last. */
  readonly lastRead: (messageId: string | undefined) => unknown;
}

function untruths(
  group: readonly Report[],
  intents: readonly Intent[],
  { isLost, lastRead }: Fates,
): readonly Finding[] {
  const attempts = intents.flatMap((one) => one.attempts);
  const accepted = messagesOf(attempts);
  const living = accepted.filter((one) => !isLost(messageIdOf(one)));
  const saidDelivered = group.filter(({ reported }) => reported === 'delivered');
  const saidAccepted = [
    ...saidDelivered,
    ...group.filter(({ reported }) => reported === 'accepted'),
  ];
  const saidFailed = group.filter(({ reported }) => reported === 'failed');
  const findings: Finding[] = [];
  const count = accepted.length > 0 ? `only ${accepted.length} such` : 'no such';
  const noun = accepted.length > 1 ? 'messages' : 'message';
  for (const { intent, reported } of saidAccepted.slice(accepted.length)) {
    const what = `${intent} was reported as ${reported}, but the service accepted ${count} ${noun}: report what the reply says`;
    findings.push(finding(what, attempts));
  }
  const delivered = accepted.filter((one) => lastRead(messageIdOf(one)) === 'delivered').length;
  for (const { intent } of saidDelivered.slice(delivered, accepted.length)) {
    const shown = accepted.map((one) => lastRead(messageIdOf(one)) ?? 'never read');
    const what = `${intent} was reported as delivered, but the client never read that (last status: ${[...new Set(shown)].join(', ')}): read the message until it is delivered`;
    findings.push(finding(what, accepted));
  }
  const mayLive = group.length - saidFailed.length;
  if (living.length > mayLive) {
    for (const { intent } of saidFailed.slice(0, living.length - mayLive)) {
      const what = `${intent} was reported as failed, but the service accepted it: retry under the same request_id to learn what became of it`;
      findings.push(finding(what, living));
    }
  }
  return findings;
}

/** The status of each message that the client read last. */
function lastReads(exchanges: readonly Exchange[]): ReadonlyMap<string, unknown> {
  const read = new Map<string, unknown>();
  for (const one of exchanges) {
    const id = messageIdOf(one);
    if (one.endpoint !== 'read' || one.status !== 200 || !one.isSeen || id === undefined) continue;
    read.set(id, one.reply?.['status']);
  }
  return read;
}

/** Intents by what a report names: their places in the record. */
interface Index {
  readonly all: readonly Intent[];
  readonly byName: ReadonlyMap<string, ReadonlySet<number>>;
  readonly byContent: ReadonlyMap<string, ReadonlySet<number>>;
  /** By the content of an attempt without a `request_id`. */
  readonly byBareContent: ReadonlyMap<string, ReadonlySet<number>>;
}

function indexOf(all: readonly Intent[], names: IntentNames): Index {
  const [byName, byContent, byBareContent] = [places(), places(), places()];
  const add = (index: Map<string, Set<number>>, key: string, place: number) => {
    const known = index.get(key);
    if (known === undefined) index.set(key, new Set([place]));
    else known.add(place);
  };
  for (const [place, { attempts }] of all.entries()) {
    for (const one of attempts) {
      const id = requestIdOf(one);
      const content = contentOfSend(one);
      add(byContent, content, place);
      const name = id === undefined ? undefined : names.of(one, id);
      if (id === undefined) add(byBareContent, content, place);
      else if (name !== undefined) add(byName, name, place);
    }
  }
  return { all, byName, byContent, byBareContent };
}

function places(): Map<string, Set<number>> {
  return new Map();
}

/**
 * The intents of the reports, in order: by name where both have a `request_id`, else by content.
 */
function matching(reports: readonly Report[], index: Index): readonly Intent[] {
  const found = new Set<ReadonlySet<number>>();
  for (const report of reports) {
    const content = contentOfReport(report);
    const { request_id: id } = report;
    const sources =
      id === undefined
        ? [index.byContent.get(content)]
        : [index.byName.get(report.intent), index.byBareContent.get(content)];
    for (const source of sources) if (source !== undefined) found.add(source);
  }
  const ordered = [...new Set([...found].flatMap((source) => [...source]))].sort((a, b) => a - b);
  return ordered.flatMap((place) => index.all[place] ?? []);
}

function contentOfReport({ to, from, message }: Report): string {
  return JSON.stringify([to, from, message]);
}

function contentOfSend(send: Exchange): string {
  return JSON.stringify([send.body?.['to'], senderOf(send), send.body?.['message']]);
}
