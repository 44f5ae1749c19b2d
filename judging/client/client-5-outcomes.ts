/**
 * CLIENT-5, CLIENT-8, CLIENT-9, CLIENT-10: the outcome of each intent, how its client reacted to
 * it, and whether the client reported it truthfully.
 */

import { dayMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import {
  consecutive,
  type Exchange,
  firstAcceptances,
  isAccepted,
  isSend,
  isUnresolved,
  messageIdOf,
  readIdOf,
  refusedForGood,
  requestIdOf,
  senderOf,
  statusIn,
  unrecorded,
  wasKnownTo,
} from './exchange.ts';
import { attributableAttempts, type Intent, isAttributable, lastAttempt } from './intents.ts';
import type { Report } from './intents-file.ts';
import {
  type ClientRecord,
  type Finding,
  finding,
  type Judgement,
  type Judges,
  judgement,
  type Notice,
  notExercised,
} from './record.ts';
import { contentOfReport, ReportedIntents } from './reported-intents.ts';

export const outcomes = {
  'CLIENT-5': sendsOnce,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-9': givesUpNoIntent,
  'CLIENT-10': reportsTruthfully,
} satisfies Judges;

function sendsOnce({ intents, reads }: ClientRecord): Judgement {
  const judged = intents.all.map(attributableAttempts).filter(({ length }) => length > 0);
  const failedReads = new Map<string, Exchange>();
  for (const read of reads) {
    if (![unrecorded, 'failed'].includes(statusIn(read))) continue;
    // A message whose id is not recorded may be any that was read.
    for (const id of ['', readIdOf(read)]) if (!failedReads.has(id)) failedReads.set(id, read);
  }
  const wasRepeatable = (earlier: Exchange, later: Exchange) => {
    const id = earlier.lacksBody ? '' : messageIdOf(earlier);
    const read = id === undefined ? undefined : failedReads.get(id);
    return read !== undefined && wasKnownTo(later, read);
  };
  const notices: Notice[] = [];
  const judgedSends = judgement(
    judged.map((attempts) => {
      const accepted = firstAcceptances(attempts);
      return accepted.filter((one, index) => {
        const earlier = accepted.slice(0, index);
        const original = earlier.find((other) => isBrokenReplay(other, one));
        if (original !== undefined) notices.push(brokenReplayNotice(original, one));
        const isResent = index > 0 && earlier.every((other) => wasRepeatable(other, one));
        return original === undefined && !isResent;
      });
    }),
    ({ length }) => length > 1,
    (accepted) => {
      const ids = accepted.map((one) => messageIdOf(one) ?? 'no message_id').join(', ');
      const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
      return finding(what, accepted);
    },
  );
  return { ...judgedSends, notices };
}

/** True if the service accepted one id of one caller again within a day: its fault (SEND-4). */
function isBrokenReplay(original: Exchange, later: Exchange): boolean {
  return (
    later.status === 202 &&
    requestIdOf(original) !== undefined &&
    requestIdOf(original) === requestIdOf(later) &&
    original.caller === later.caller &&
    original.endpoint === later.endpoint &&
    later.atMs - original.atMs < dayMs
  );
}

function brokenReplayNotice(original: Exchange, later: Exchange): Notice {
  const what = `the service accepted request_id ${requestIdOf(later)} twice within 24 hours (SEND-4): that is no fault of the client`;
  return { what, exchanges: [original, later] };
}

function acceptsRefusals({ exchanges }: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen, method, text, lacksBody }: Exchange) => {
    const isRequestKnown = method === 'GET' || text !== '' || !lacksBody;
    return isSeen && refusedForGood.includes(status) && isRequestKnown;
  };
  const exercised = exchanges.filter(isFinal).length;
  if (exercised === 0) return notExercised;
  const isRepeat = ([refused, later]: readonly [Exchange, Exchange]) =>
    isFinal(refused) &&
    wasKnownTo(later, refused) &&
    !isNextMonth(refused, later) &&
    // A later success shows that the cause of the refusal was corrected.
    !(later.status >= 200 && later.status < 300);
  const sameRequests = consecutive(exchanges, ({ caller, credential, method, target, text }) =>
    [caller, credential, method, target, text].join('\n'),
  );
  const findings = [...sameRequests].filter(isRepeat).map(([refused, again]) => {
    const what = `the same request came again after a ${refused.status}, which is final: correct the request, or stop`;
    return finding(what, [refused, again]);
  });
  return { exercised, findings };
}

/** True if the quota was renewed since the refusal: the later request came in another month. */
function isNextMonth(refused: Exchange, later: Exchange): boolean {
  const monthOf = ({ atMs }: Exchange) => new Date(atMs).toISOString().slice(0, 7);
  return refused.status === 402 && monthOf(refused) !== monthOf(later);
}

function givesUpNoIntent(record: ClientRecord): Judgement {
  const { intents, isPartial, reports = [], exchanges } = record;
  if (isPartial) return notExercised;
  const unresolved = intents.all.filter(
    (intent) => isAttributable(intent) && intent.attempts.some(isUnresolved),
  );
  const ended = reports.filter(({ reported }) => reported !== undefined);
  const all = ended.length === 0 ? undefined : new ReportedIntents(intents.all, reports);
  const intentsOf = (isUnknown: boolean) =>
    new Set(all?.of(ended.filter(({ reported }) => (reported === 'unknown') === isUnknown)));
  const [reported, unknown] = [intentsOf(false), intentsOf(true)];
  // A client that saw each reply knows what became of its message.
  const isUnknown = (intent: Intent) =>
    unknown.has(intent) && intent.attempts.some(({ isSeen }) => !isSeen);
  const isGivenUp = (intent: Intent) =>
    !isSettled(intent) && !reported.has(intent) && !isUnknown(intent);
  const lastSends = new Map(exchanges.filter(isSend).map((send) => [send.body?.['to'], send]));
  return judgement(unresolved, isGivenUp, (intent) => givenUpFinding(intent, lastSends));
}

/** True if the client saw an acceptance or a final refusal. */
function isSettled(intent: Intent): boolean {
  const sawAcceptance = intent.attempts.some((attempt) => attempt.isSeen && isAccepted(attempt));
  return sawAcceptance || !isUnresolved(lastAttempt(intent));
}

/** `lastSends`: the last send to each recipient. */
function givenUpFinding(intent: Intent, lastSends: ReadonlyMap<unknown, Exchange>): Finding {
  const last = lastAttempt(intent);
  const unseen = last.isGarbled
    ? 'a reply whose body was garbled'
    : 'a reply that did not reach the client whole';
  const cause = last.isSeen ? `a ${last.status}` : unseen;
  const similar = last.body && lastSends.get(last.body['to']);
  const mayBeSecond = !last.isSeen && isAccepted(last) && similar !== undefined;
  const twice =
    !mayBeSecond || similar.number <= last.number
      ? ''
      : `; it was accepted, and exchange ${similar.number} is a similar send to the same recipient: if both are one message, it was sent twice`;
  return finding(
    `the message was given up after ${cause}${twice}: retry it under the same request_id, or report it as failed or unknown ` +
      'in a line of its own: --intents FILE, SMSTWIN_INTENTS, the control port or toPassReferee({ intents })',
    [last],
  );
}

/**
 * Reports with a `request_id` are judged one by one. Those without are counted: equal messages
 * cannot be told apart.
 */
function reportsTruthfully(record: ClientRecord): Judgement {
  const { intents, isPartial, lacksSends, reports = [] } = record;
  if (isPartial || lacksSends || reports.length === 0) return notExercised;
  const reportedIntents = new ReportedIntents(intents.all, reports);
  const groups = grouped(reports, (report) => report.request_id ?? contentOfReport(report));
  const messageOutcomes = outcomesIn(record);
  return {
    exercised: reports.filter(({ reported }) => reported !== undefined).length,
    findings: [...groups.values()].flatMap((group) =>
      untruths(group, reportedIntents.of(group), messageOutcomes),
    ),
  };
}

/** What the record shows about the outcome of a message. */
interface Outcomes {
  /** True if the message was never delivered, as far as the record shows. */
  readonly isLost: (message: Exchange) => boolean;
  /** The status that the client read last. */
  readonly lastRead: (message: Exchange) => string | undefined;
}

function outcomesIn({ reads, endsUndelivered }: ClientRecord): Outcomes {
  const statuses = new Map(reads.map((read) => [readIdOf(read), statusIn(read)]));
  const lastRead = (message: Exchange) =>
    message.lacksBody ? unrecorded : statuses.get(messageIdOf(message) ?? '');
  const isLost = (message: Exchange) => {
    const id = messageIdOf(message) ?? '';
    return (
      endsUndelivered?.(id) === true || ['failed', unrecorded].includes(lastRead(message) ?? '')
    );
  };
  return { isLost, lastRead };
}

/** The false reports in a group. `group`: reports that may be about the same intents. */
function untruths(
  group: readonly Report[],
  intents: readonly Intent[],
  messageOutcomes: Outcomes,
): readonly Finding[] {
  const attempts = intents.flatMap((intent) => intent.attempts);
  const accepted = firstAcceptances(attempts);
  const reportedAs = (outcome: Report['reported']) =>
    group.filter(({ reported }) => reported === outcome);
  const [delivered, failed] = [reportedAs('delivered'), reportedAs('failed')];
  return [
    ...notAccepted([...delivered, ...reportedAs('accepted')], accepted, attempts),
    ...notDelivered(delivered, accepted, messageOutcomes),
    ...notFailed(failed, accepted, group.length - failed.length, messageOutcomes),
    ...neverSent(
      reportedAs(undefined),
      group.length - intents.length - failed.length - reportedAs('unknown').length,
    ),
    ...otherThanMeant(group, accepted),
  ];
}

/** Lines without any send that do not say so. `unsent`: lines that no send is about. */
function neverSent(unreported: readonly Report[], unsent: number): readonly Finding[] {
  return unreported.slice(0, Math.max(0, unsent)).map(({ intent }) => {
    return finding(`${intent} was never sent: send it, or report it as failed`, []);
  });
}

/**
 * Accepted messages of which none is what a line about their intent says. If one is, the others may
 * be of another account or another attempt, which other rules judge.
 */
function otherThanMeant(
  group: readonly Report[],
  accepted: readonly Exchange[],
): readonly Finding[] {
  const lines = group.flatMap((report) => report.lines ?? [report]);
  const readable = accepted.filter(({ body }) => body !== undefined);
  const differing = readable.map((send) => {
    const [closest = []] = lines
      .map((line) => differingFields(line, send))
      .sort((a, b) => a.length - b.length);
    return [send, closest] as const;
  });
  if (differing.some(([, closest]) => closest.length === 0)) return [];
  return differing.map(([send, closest]) => {
    const what = `${group[0]?.intent} was accepted with another ${closest.join(', ')} than its line says: send what was meant, or write the line that is true`;
    return finding(what, [send]);
  });
}

function differingFields(line: Report, send: Exchange): readonly string[] {
  const sendAt = send.body?.['send_at'];
  const isSameTime =
    line.send_at === undefined ||
    line.send_at === sendAt ||
    Date.parse(line.send_at) === Date.parse(String(sendAt));
  return [
    ...(line.to === send.body?.['to'] ? [] : ['to']),
    ...(line.from === senderOf(send) ? [] : ['from']),
    ...(line.message === send.body?.['message'] ? [] : ['message']),
    ...(isSameTime ? [] : ['send_at']),
  ];
}

/** False reports of an acceptance or delivery: more than the service accepted messages. */
function notAccepted(
  reported: readonly Report[],
  accepted: readonly Exchange[],
  attempts: readonly Exchange[],
): readonly Finding[] {
  const count = accepted.length > 0 ? `only ${accepted.length} such` : 'no such';
  const noun = accepted.length > 1 ? 'messages' : 'message';
  return reported.slice(accepted.length).map(({ intent, reported: outcome }) => {
    const what = `${intent} was reported as ${outcome}, but the service accepted ${count} ${noun}: report what the reply says`;
    return finding(what, attempts);
  });
}

/** False reports of a delivery: more than the messages that the client read as delivered. */
function notDelivered(
  reported: readonly Report[],
  accepted: readonly Exchange[],
  { lastRead }: Outcomes,
): readonly Finding[] {
  const delivered = accepted.filter((message) =>
    ['delivered', unrecorded].includes(lastRead(message) ?? ''),
  ).length;
  const statuses = new Set(accepted.map((message) => lastRead(message) ?? 'never read'));
  return reported.slice(delivered, accepted.length).map(({ intent }) => {
    const what = `${intent} was reported as delivered, but the client never read that (last status: ${[...statuses].join(', ')}): read the message until it is delivered`;
    return finding(what, accepted);
  });
}

/**
 * False reports of a failure. Each accepted message that is not lost belongs to one report without
 * a failure (`others` counts them); each further such message makes one report of a failure false.
 */
function notFailed(
  reported: readonly Report[],
  accepted: readonly Exchange[],
  others: number,
  { isLost }: Outcomes,
): readonly Finding[] {
  const notLost = accepted.filter((message) => !isLost(message));
  return reported.slice(0, Math.max(0, notLost.length - others)).map(({ intent }) => {
    const what = `${intent} was reported as failed, but the service accepted it: retry under the same request_id to learn what became of it`;
    return finding(what, notLost);
  });
}
