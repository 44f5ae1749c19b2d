/**
 * CLIENT-10: the client reports of each intent what the service answered. Reports with a
 * `request_id` are judged one by one. Those without are counted: equal messages cannot be told
 * apart.
 */
import { type Exchange, firstAcceptances, grouped, messageIdOf } from './exchange.ts';
import type { Intent } from './intents.ts';
import type { Report } from './intents-file.ts';
import {
  type ClientRecord,
  type Finding,
  finding,
  type Judgement,
  type Judges,
  notExercised,
} from './record.ts';
import { contentOfReport, ReportedIntents } from './reported-intents.ts';

export const reporting: Judges = { 'CLIENT-10': reportsTruthfully };

function reportsTruthfully(record: ClientRecord): Judgement {
  const { intents, isPartial, reports = [] } = record;
  if (isPartial || reports.length === 0) return notExercised;
  const reportedIntents = new ReportedIntents(intents.all, reports);
  const groups = grouped(reports, (report) => report.request_id ?? contentOfReport(report));
  const fates = fatesIn(record);
  return {
    exercised: reports.filter(({ reported }) => reported !== undefined).length,
    findings: [...groups.values()].flatMap((group) =>
      untruths(group, reportedIntents.of(group), fates),
    ),
  };
}

/** What became of messages. */
interface Fates {
  readonly isLost: (message: Exchange) => boolean;
  /** The status that the client read last. */
  readonly lastRead: (message: Exchange) => unknown;
}

function fatesIn({ exchanges, endsUndelivered }: ClientRecord): Fates {
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

/** `group`: reports that may be of the same intents. */
function untruths(
  group: readonly Report[],
  intents: readonly Intent[],
  fates: Fates,
): readonly Finding[] {
  const attempts = intents.flatMap((intent) => intent.attempts);
  const accepted = firstAcceptances(attempts);
  const reportedAs = (outcome: Report['reported']) =>
    group.filter(({ reported }) => reported === outcome);
  const [delivered, failed] = [reportedAs('delivered'), reportedAs('failed')];
  return [
    ...notAccepted([...delivered, ...reportedAs('accepted')], accepted, attempts),
    ...notDelivered(delivered, accepted, fates),
    ...notFailed(failed, accepted, group.length - failed.length, fates),
  ];
}

/** The reports of an acceptance or a delivery beyond the messages that the service accepted. */
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

/** The reports of a delivery beyond the messages that the client has read as delivered. */
function notDelivered(
  reported: readonly Report[],
  accepted: readonly Exchange[],
  { lastRead }: Fates,
): readonly Finding[] {
  const delivered = accepted.filter((message) => lastRead(message) === 'delivered').length;
  const statuses = new Set(accepted.map((message) => lastRead(message) ?? 'never read'));
  return reported.slice(delivered, accepted.length).map(({ intent }) => {
    const what = `${intent} was reported as delivered, but the client never read that (last status: ${[...statuses].join(', ')}): read the message until it is delivered`;
    return finding(what, accepted);
  });
}

/** The reports of a failure for which too many messages are left; `others`: the other reports. */
function notFailed(
  reported: readonly Report[],
  accepted: readonly Exchange[],
  others: number,
  { isLost }: Fates,
): readonly Finding[] {
  const kept = accepted.filter((message) => !isLost(message));
  return reported.slice(0, Math.max(0, kept.length - others)).map(({ intent }) => {
    const what = `${intent} was reported as failed, but the service accepted it: retry under the same request_id to learn what became of it`;
    return finding(what, kept);
  });
}
