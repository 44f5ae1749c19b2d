/**
 * One run of the client, before and after it is judged: how it ended, the client rules that it
 * broke, and the messages that were sent twice or not at all, compared with the run without faults.
 */
import { type Point, refusalNamed, type Schedule } from '#contract/fault-schedule.ts';
import type { ClientRuleId } from '#contract/rules.ts';
import { grouped } from '#io/grouped.ts';
import {
  type ClientExchange,
  isAccepted,
  isRefusal,
  recipientAndTextOf,
} from '#judging/client/exchange.ts';
import type { ReportedIntent } from '#judging/client/intents-file.ts';
import { judge } from '#judging/client/judge.ts';
import { isSend, requestIdOf } from '#judging/evidence/exchange.ts';
import type { KnownIntents } from './points.ts';
import type { Seen } from './watched-run.ts';

export interface Ending {
  readonly kind: 'passed' | 'failed' | 'timeout';
  /** Why it did not pass, such as `exit code 1`; empty if it passed. */
  readonly how: string;
  /** The first and the last lines of the client's output, or its error. */
  readonly tail: string;
}

/**
 * Runs the client once in a fresh world. `throttleWaits`: the seconds of `Retry-After` that the
 * first `throttle` of the schedule asks for, the second and so on; the last one holds for the rest.
 * Rejects with a SearchStopped if the user interrupts it.
 */
export type RunClient = (
  schedule: Schedule,
  knownIntents: KnownIntents,
  throttleWaits: readonly number[],
) => Promise<RawRun>;

/** Thrown instead of a run: the user has interrupted the search, or its budget has ended. */
export class SearchStopped extends Error {
  readonly stop: 'interrupted' | 'budget';

  constructor(stop: SearchStopped['stop']) {
    super(stop);
    this.stop = stop;
  }
}

export interface RawRun {
  readonly ending: Ending;
  readonly seen: readonly Seen[];
  readonly intents: KnownIntents;
  /** Undefined without an intents file. */
  readonly reports: readonly ReportedIntent[] | undefined;
  /** True if the message never becomes `delivered`, as the simulator of the run knows. */
  readonly endsUndelivered: (messageId: string) => boolean;
}

export interface Failure {
  readonly cause: ClientRuleId | 'sent_twice' | 'not_accepted' | 'timeout' | 'failed';
  readonly what: string;
  readonly exchanges: readonly ClientExchange[];
}

/**
 * How many messages to each recipient were accepted. A retry may have another sender, endpoint,
 * account, text or time: the recipient gets one message all the same.
 */
export type Accepted = ReadonlyMap<string, number>;

export interface Expected {
  /** Undefined if the recipients differ between runs without faults: only the total counts. */
  readonly accepted: Accepted | undefined;
  readonly total: number;
  /** The messages that it sends several times under different ids, with the number of their ids. */
  readonly equalMessages: ReadonlyMap<string, number>;
}

export interface Run extends Pick<RawRun, 'ending' | 'seen'> {
  readonly schedule: Schedule;
  /** The points that it reached, in order. */
  readonly trace: readonly Point[];
  /** The gravest first. */
  readonly failures: readonly Failure[];
}

/**
 * Judges a run. `expected`: what was accepted without faults; undefined for the run without faults
 * itself. `mayFail`: it is no failure that the client ends with an error.
 */
export function runOf(
  run: RawRun,
  schedule: Schedule,
  expected: Expected | undefined,
  { mayFail }: { readonly mayFail: boolean },
): Run {
  const { ending, seen } = run;
  const exchanges = seen.map(({ exchange }) => exchange);
  const rules = brokenRules(run, exchanges, expected);
  // The referee cannot tell which of several equal sends is a retry; the count can.
  const isTwice = rules.some(({ cause }) => cause === 'CLIENT-5');
  const counted = miscounted(run, exchanges, expected).filter(
    ({ cause }) => !isTwice || cause !== 'sent_twice',
  );
  const failures = [...rules, ...counted];
  // To give up with an error is right after a refusal that the service documents.
  const isRefused = seen.some(({ fault }) => fault && refusalNamed(fault) !== undefined);
  if (ending.kind === 'timeout' || (ending.kind === 'failed' && !mayFail && !isRefused))
    failures.push({ cause: ending.kind, what: ending.how, exchanges: exchanges.slice(-1) });
  failures.sort((one, other) => gravity(one) - gravity(other));
  return { schedule, trace: seen.flatMap(({ point }) => point ?? []), failures, ending, seen };
}

/** Failures of the same kind are one finding. */
export function kindOf({ cause }: Failure): string {
  return cause === 'CLIENT-5' ? 'sent_twice' : cause;
}

/** The gravest kind comes first: a lost message matters more than the mistake that caused it. */
const gravestCauses: readonly Failure['cause'][] = [
  'CLIENT-5',
  'sent_twice',
  'CLIENT-10',
  'not_accepted',
  'CLIENT-6',
  'CLIENT-7',
  'CLIENT-9',
  'timeout',
  'failed',
];

function gravity({ cause }: Failure): number {
  const index = gravestCauses.indexOf(cause);
  return index < 0 ? gravestCauses.length : index;
}

function brokenRules(
  { ending, reports, endsUndelivered }: RawRun,
  exchanges: readonly ClientExchange[],
  expected: Expected | undefined,
): Failure[] {
  const isPartial = ending.kind === 'timeout';
  const { equalMessages } = expected ?? {};
  const { rules, intents } = judge(exchanges, {
    isPartial,
    reports,
    equalMessages,
    endsUndelivered,
  });
  // A client that ends with an error says that it gave up, which CLIENT-9 asks for.
  const reportsGivingUp = ending.kind === 'failed' && reports === undefined;
  const isReplaced = (id: ClientRuleId, [send]: readonly ClientExchange[]) =>
    id === 'CLIENT-9' &&
    reports === undefined &&
    send !== undefined &&
    areAllAccepted(send, exchanges, expected) &&
    intents.all.find(({ attempts }) => attempts.includes(send))?.attempts.every(isRefusal);
  return rules
    .filter(({ id, verdict }) => verdict === 'failed' && !(id === 'CLIENT-9' && reportsGivingUp))
    .flatMap(({ id, findings }) =>
      findings
        .filter(({ exchanges: proof }) => !isReplaced(id, proof))
        .map(({ what, exchanges: proof }) => ({ cause: id, what, exchanges: proof })),
    );
}

/**
 * True if the recipient of the send got as many messages as without faults. Then a message that was
 * certainly refused is not lost: it was sent with another text, such as a new code.
 */
function areAllAccepted(
  send: ClientExchange,
  exchanges: readonly ClientExchange[],
  expected: Expected | undefined,
): boolean {
  if (expected === undefined) return false;
  const found = acceptedIn(exchanges);
  if (expected.accepted === undefined) return totalOf(found) >= expected.total;
  const recipient = recipientOf(send);
  return (found.get(recipient) ?? 0) >= (expected.accepted.get(recipient) ?? 0);
}

function miscounted(
  { ending, reports }: RawRun,
  exchanges: readonly ClientExchange[],
  expected: Expected | undefined,
): Failure[] {
  if (expected === undefined) return [];
  const found = acceptedIn(exchanges);
  const sends = exchanges.filter(isSend);
  const { accepted } = expected;
  const failures =
    accepted === undefined
      ? miscount('messages', { found: totalOf(found), times: expected.total }, sends)
      : [...new Set([...accepted.keys(), ...found.keys()])].flatMap((recipient) => {
          const toRecipient = sends.filter((send) => recipientOf(send) === recipient);
          const times = accepted.get(recipient) ?? 0;
          const counts = { found: found.get(recipient) ?? 0, times };
          return miscount(`messages to ${recipient}`, counts, toRecipient);
        });
  // Any other client says itself that it failed, or what was not accepted.
  const mustSucceed = ending.kind === 'passed' && reports === undefined;
  return failures.filter(({ cause }) => mustSucceed || cause !== 'not_accepted');
}

function miscount(
  noun: string,
  { found, times }: Readonly<Record<'found' | 'times', number>>,
  sends: readonly ClientExchange[],
): Failure[] {
  const counts = `${found} ${noun} were accepted, and ${times} without faults`;
  if (found > times) {
    const what = `a message was sent twice: ${counts}; retry under the same request_id`;
    return [{ cause: 'sent_twice', what, exchanges: sends.filter(isAccepted) }];
  }
  if (found === times) return [];
  const what = `the client ended without an error, but ${counts}; retry what was not accepted, or exit with an error`;
  return [{ cause: 'not_accepted', what, exchanges: sends }];
}

export function recipientOf({ fields, body }: ClientExchange): string {
  const to = fields?.['to'];
  return typeof to === 'string' ? to : body;
}

/** The sends that created a message: their reply is a 202, while a replay gets a 200. */
export function newlyAccepted(exchanges: readonly ClientExchange[]): readonly ClientExchange[] {
  return exchanges.filter((exchange) => isSend(exchange) && exchange.reply.status === 202);
}

/** How many messages to each recipient were accepted. */
export function acceptedIn(exchanges: readonly ClientExchange[]): Accepted {
  const byRecipient = grouped(newlyAccepted(exchanges), recipientOf);
  return new Map([...byRecipient].map(([recipient, { length }]) => [recipient, length]));
}

/** The messages that were accepted under several ids, with the number of their ids. */
export function equalMessagesIn(exchanges: readonly ClientExchange[]): ReadonlyMap<string, number> {
  const withId = newlyAccepted(exchanges).filter((send) => requestIdOf(send) !== undefined);
  const byMessage = grouped(withId, recipientAndTextOf);
  const counts = [...byMessage].map(([message, sends]): [string, number] => [
    message,
    new Set(sends.map(requestIdOf)).size,
  ]);
  return new Map(counts.filter(([, ids]) => ids > 1));
}

export function totalOf(accepted: Accepted): number {
  return [...accepted.values()].reduce((sum, times) => sum + times, 0);
}

export function equalAccepted(one: Accepted, other: Accepted): boolean {
  return (
    one.size === other.size &&
    [...one].every(([recipient, times]) => other.get(recipient) === times)
  );
}
