/**
 * CLIENT-5, CLIENT-8, CLIENT-9, CLIENT-10: the outcome of each intent, how its client reacted to
 * it, and whether the client reported it truthfully.
 */
import {
  consecutive,
  type Exchange,
  firstAcceptances,
  grouped,
  isAccepted,
  isUnresolved,
  messageIdOf,
  refusedForGood,
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
  notExercised,
} from './record.ts';
import { contentOfReport, ReportedIntents } from './reported-intents.ts';

export const outcomes = {
  'CLIENT-5': sendsOnce,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-9': givesUpNoIntent,
  'CLIENT-10': reportsTruthfully,
} satisfies Judges;

function sendsOnce({ intents }: ClientRecord): Judgement {
  const judged = intents.all.map(attributableAttempts).filter(({ length }) => length > 0);
  return judgement(
    judged.map(firstAcceptances),
    ({ length }) => length > 1,
    (accepted) => {
      const ids = accepted.map((one) => messageIdOf(one) ?? 'no message_id').join(', ');
      const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
      return finding(what, accepted);
    },
  );
}

function acceptsRefusals({ exchanges }: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen }: Exchange) => isSeen && refusedForGood.includes(status);
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

function givesUpNoIntent({ intents, isPartial, reports = [] }: ClientRecord): Judgement {
  if (isPartial) return notExercised;
  const unresolved = intents.all.filter(
    (intent) => isAttributable(intent) && intent.attempts.some(isUnresolved),
  );
  const reportsOfOutcomes = reports.filter(({ reported }) => reported !== undefined);
  const reported = new Set(
    reportsOfOutcomes.length === 0
      ? []
      : new ReportedIntents(intents.all, reports).of(reportsOfOutcomes),
  );
  const isGivenUp = (intent: Intent) => !isSettled(intent) && !reported.has(intent);
  return judgement(unresolved, isGivenUp, givenUpFinding);
}

/** True if the client saw an acceptance or a final refusal. */
function isSettled(intent: Intent): boolean {
  const sawAcceptance = intent.attempts.some((attempt) => attempt.isSeen && isAccepted(attempt));
  return sawAcceptance || !isUnresolved(lastAttempt(intent));
}

function givenUpFinding(intent: Intent): Finding {
  const last = lastAttempt(intent);
  const cause = last.isSeen ? `a ${last.status}` : 'a reply that the client did not see';
  return finding(
    `the message was given up after ${cause}: retry it under the same request_id, or report it as failed, ` +
      'in the intents file (--intents FILE) or in toPassReferee({ intents })',
    [last],
  );
}

/**
 * Reports with a `request_id` are judged one by one. Those without are counted: equal messages
 * cannot be told apart.
 */
function reportsTruthfully(record: ClientRecord): Judgement {
  const { intents, isPartial, reports = [] } = record;
  if (isPartial || reports.length === 0) return notExercised;
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
  readonly lastRead: (message: Exchange) => unknown;
}

function outcomesIn({ exchanges, endsUndelivered }: ClientRecord): Outcomes {
  const statuses = lastReads(exchanges);
  const lastRead = (message: Exchange) => statuses.get(messageIdOf(message) ?? '');
  const isLost = (message: Exchange) => {
    const id = messageIdOf(message);
    if (id === undefined) return false;
    return endsUndelivered?.(id) === true || lastRead(message) === 'failed';
  };
  return { isLost, lastRead };
}

/** The status of each message that the client read last. */
function lastReads(exchanges: readonly Exchange[]): ReadonlyMap<string, unknown> {
  const statuses = new Map<string, unknown>();
  for (const exchange of exchanges) {
    const { endpoint, status, isSeen, reply } = exchange;
    const id = messageIdOf(exchange);
    if (endpoint !== 'read' || status !== 200 || !isSeen || id === undefined) continue;
    statuses.set(id, reply?.['status']);
  }
  return statuses;
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
  const delivered = accepted.filter((message) => lastRead(message) === 'delivered').length;
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
