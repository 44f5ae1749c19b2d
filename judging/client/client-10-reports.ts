/**
 * CLIENT-10: whether the client reported the outcome of each intent truthfully. Finds the intents
 * of a record that the lines of the client's intents file are about: by the name of the intent if
 * the line and a send have a `request_id`, otherwise by recipient, sender and text.
 */
import { getOrAdd, grouped } from '#io/grouped.ts';
import { requestIdOf, senderNumberOf } from '../evidence/exchange.ts';
import {
  type ClientExchange,
  mayBeStatus,
  messageIdIfAny,
  plainText,
  readIdOf,
  sendAtOf,
  statusIn,
  unrecorded,
} from './exchange.ts';
import { IntentNames } from './intent-names.ts';
import { linesOf, plainNumber, type ReportedIntent, reportedContentOf } from './intents-file.ts';
import {
  type ClientRecord,
  type Finding,
  finding,
  firstAcceptances,
  type Intent,
  type Judgement,
  type Judges,
  notExercised,
} from './record.ts';

export const reported = { 'CLIENT-10': reportsTruthfully } satisfies Judges;

/**
 * Reports with a `request_id` are judged one by one. Those without are counted: equal messages
 * cannot be told apart.
 */
function reportsTruthfully(record: ClientRecord): Judgement {
  const { intents, isPartial, unclear, reports = [] } = record;
  // A line may be about a send of unknown content.
  if (isPartial || !unclear.areNone || reports.length === 0) return notExercised;
  const reportedIntents = new ReportedIntents(intents.all, reports);
  const groups = grouped(reports, (report) => report.request_id ?? contentOfReport(report));
  const messageOutcomes = outcomesIn(record);
  return {
    exercised: reports.filter(({ reported }) => reported !== undefined).length,
    findings: [...groups.values()].flatMap((group) =>
      falseReports(group, reportedIntents.of(group), messageOutcomes),
    ),
  };
}

/** Finds the intents that reports are about. */
export class ReportedIntents {
  /** By the name of an attempt, by its content, and by its content if it has no `request_id`. */
  readonly #intents = new Map<string, Set<Intent>>();

  constructor(intents: readonly Intent[], reports: readonly ReportedIntent[]) {
    const names = new IntentNames(reports);
    for (const intent of intents) {
      for (const attempt of intent.attempts) {
        const id = requestIdOf(attempt);
        const name = id === undefined ? undefined : names.of(attempt, id);
        const { to, message } = attempt.fields ?? {};
        const content = reportedContentOf(to, senderNumberOf(attempt), message);
        this.#add(`content ${content}`, intent);
        if (id === undefined) this.#add(`content without id ${content}`, intent);
        else if (name !== undefined) this.#add(`name ${name}`, intent);
      }
    }
  }

  /** The intents of these reports, in the order of the record. */
  of(reports: readonly ReportedIntent[]): readonly Intent[] {
    // Many reports may share one set of intents: merging each set once keeps this linear.
    const sets = new Set(reports.flatMap(keysOf).flatMap((key) => this.#intents.get(key) ?? []));
    const firstNumber = ({ attempts: [first] }: Intent) => first?.number ?? 0;
    return [...new Set([...sets].flatMap((set) => [...set]))].sort(
      (one, other) => firstNumber(one) - firstNumber(other),
    );
  }

  #add(key: string, intent: Intent): void {
    getOrAdd(this.#intents, key, () => new Set<Intent>()).add(intent);
  }
}

/** What the record shows about the outcome of a message. */
interface Outcomes {
  /** True if the message was never delivered, as far as the record shows. */
  readonly isLost: (message: ClientExchange) => boolean;
  /** The status that the client read last. */
  readonly lastRead: (message: ClientExchange) => string | undefined;
}

function outcomesIn({ reads, endsUndelivered }: ClientRecord): Outcomes {
  const statuses = new Map(reads.map((read) => [readIdOf(read), statusIn(read)]));
  const lastRead = (message: ClientExchange) =>
    message.lacksBody ? unrecorded : statuses.get(messageIdIfAny(message) ?? '');
  const isLost = (message: ClientExchange) => {
    const id = messageIdIfAny(message) ?? '';
    return endsUndelivered?.(id) === true || mayBeStatus(lastRead(message), 'failed');
  };
  return { isLost, lastRead };
}

/** The false reports in a group. `group`: reports that may be about the same intents. */
function falseReports(
  group: readonly ReportedIntent[],
  intents: readonly Intent[],
  messageOutcomes: Outcomes,
): readonly Finding[] {
  const attempts = intents.flatMap((intent) => intent.attempts);
  const accepted = firstAcceptances(attempts);
  const reportedAs = (outcome: ReportedIntent['reported']) =>
    group.filter(({ reported }) => reported === outcome);
  const [delivered, failed] = [reportedAs('delivered'), reportedAs('failed')];
  // An intent was sent; a message that is reported as failed or unknown may never have been.
  const mayBeUnsent = failed.length + reportedAs('unknown').length;
  return [
    ...falseAcceptances([...delivered, ...reportedAs('accepted')], accepted, attempts),
    ...falseDeliveries(delivered, accepted, messageOutcomes),
    ...falseFailures(failed, accepted, group.length - failed.length, messageOutcomes),
    ...unsentLines(reportedAs(undefined), group.length - intents.length - mayBeUnsent),
    ...differingMessages(group, accepted),
  ];
}

/**
 * Lines that report nothing although no send belongs to them. `unsent`: how many lines have no
 * send.
 */
function unsentLines(unreported: readonly ReportedIntent[], unsent: number): readonly Finding[] {
  return unreported.slice(0, Math.max(0, unsent)).map(({ intent }) => {
    return finding(`${intent} was never sent: send it, or report it as failed`, []);
  });
}

/**
 * Accepted messages that differ from every line of their intent. If one message matches a line,
 * there is no finding: the others may belong to another account or attempt, which other rules
 * judge.
 */
function differingMessages(
  group: readonly ReportedIntent[],
  accepted: readonly ClientExchange[],
): readonly Finding[] {
  const lines = group.flatMap(linesOf);
  const readable = accepted.filter(({ fields }) => fields !== undefined);
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

function differingFields(line: ReportedIntent, send: ClientExchange): readonly string[] {
  const isSameTime = line.send_at === undefined || sendAtOf({ fields: line }) === sendAtOf(send);
  return [
    ...(plainNumber(line.to) === send.fields?.['to'] ? [] : ['to']),
    ...(plainNumber(line.from) === senderNumberOf(send) ? [] : ['from']),
    ...(plainText(line.message) === plainText(send.fields?.['message']) ? [] : ['message']),
    ...(isSameTime ? [] : ['send_at']),
  ];
}

/** False reports of an acceptance or delivery: more than the service accepted messages. */
function falseAcceptances(
  reports: readonly ReportedIntent[],
  accepted: readonly ClientExchange[],
  attempts: readonly ClientExchange[],
): readonly Finding[] {
  const count = accepted.length > 0 ? `only ${accepted.length} such` : 'no such';
  const noun = accepted.length > 1 ? 'messages' : 'message';
  return reports.slice(accepted.length).map(({ intent, reported: outcome }) => {
    const what = `${intent} was reported as ${outcome}, but the service accepted ${count} ${noun}: report what the reply says`;
    return finding(what, attempts);
  });
}

/** False reports of a delivery: more than the messages that the client read as delivered. */
function falseDeliveries(
  reports: readonly ReportedIntent[],
  accepted: readonly ClientExchange[],
  { lastRead }: Outcomes,
): readonly Finding[] {
  const delivered = accepted.filter((message) =>
    mayBeStatus(lastRead(message), 'delivered'),
  ).length;
  const statuses = new Set(accepted.map((message) => lastRead(message) ?? 'never read'));
  return reports.slice(delivered, accepted.length).map(({ intent }) => {
    const what = `${intent} was reported as delivered, but the client never read that (last status: ${[...statuses].join(', ')}): read the message until it is delivered`;
    return finding(what, accepted);
  });
}

/**
 * False reports of a failure. Each accepted message that is not lost belongs to one report without
 * a failure (`others` counts them); each further such message makes one report of a failure false.
 */
function falseFailures(
  reports: readonly ReportedIntent[],
  accepted: readonly ClientExchange[],
  others: number,
  { isLost }: Outcomes,
): readonly Finding[] {
  const notLost = accepted.filter((message) => !isLost(message));
  return reports.slice(0, Math.max(0, notLost.length - others)).map(({ intent }) => {
    const what = `${intent} was reported as failed, but the service accepted it: retry under the same request_id to learn what became of it`;
    return finding(what, notLost);
  });
}

function keysOf(report: ReportedIntent): readonly string[] {
  const content = contentOfReport(report);
  return report.request_id === undefined
    ? [`content ${content}`]
    : [`name ${report.intent}`, `content without id ${content}`];
}

function contentOfReport({ to, from, message }: ReportedIntent): string {
  return reportedContentOf(to, from, message);
}
