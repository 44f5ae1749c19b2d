/**
 * Judges one run of the client: the client rules that it broke, and the messages that were sent
 * twice or not at all, compared with the run without faults.
 */
import { type Point, refusalNamed, type Schedule } from '#contract/fault-schedule.ts';
import type { ClientRuleId } from '#contract/rules.ts';
import { counted } from '#io/terminal.ts';
import { type ClientExchange, isAcceptedOrReplayed, isRefusal } from '#judging/client/exchange.ts';
import { judge } from '#judging/client/judge.ts';
import { isSend } from '#judging/evidence/exchange.ts';
import { type Accepted, acceptedIn, type RawRun, recipientOf, totalOf } from './client-run.ts';

export interface Failure {
  readonly cause: ClientRuleId | 'sent_twice' | 'not_accepted' | 'timeout' | 'failed';
  readonly what: string;
  readonly exchanges: readonly ClientExchange[];
}

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
  const hasDoubleSend = rules.some(({ cause }) => cause === 'CLIENT-5');
  const miscounts = countFailures(run, exchanges, expected).filter(
    ({ cause }) => !hasDoubleSend || cause !== 'sent_twice',
  );
  const failures = [...rules, ...miscounts];
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

/**
 * The gravest kind comes first: a lost message matters more than the mistake that caused it. Rules
 * that are not listed come last.
 */
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
  const { rules, intents } = judge(exchanges, {
    isPartial: ending.kind === 'timeout',
    reports,
    equalMessages: expected?.equalMessages,
    endsUndelivered,
  });
  const isExcused = (id: ClientRuleId, [send]: readonly ClientExchange[]) => {
    if (id !== 'CLIENT-9' || reports !== undefined) return false;
    // Without reports, a client that ends with an error says that it gave up, as CLIENT-9 asks.
    if (ending.kind === 'failed') return true;
    // Or the message was certainly refused, and another one was accepted in its place.
    if (send === undefined || !gotAsManyAsExpected(send, exchanges, expected)) return false;
    const intent = intents.all.find(({ attempts }) => attempts.includes(send));
    return intent?.attempts.every(isRefusal) === true;
  };
  return rules
    .filter(({ verdict }) => verdict === 'failed')
    .flatMap(({ id, findings }) =>
      findings
        .filter((finding) => !isExcused(id, finding.exchanges))
        .map(({ what, exchanges: proof }) => ({ cause: id, what, exchanges: proof })),
    );
}

/**
 * True if the recipient of the send got as many messages as without faults. Then a message that was
 * certainly refused is not lost: it was sent with another text, such as a new code.
 */
function gotAsManyAsExpected(
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

/** What was accepted more or less often than without faults. */
function countFailures(
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
      ? countFailure('', { found: totalOf(found), wanted: expected.total }, sends)
      : [...new Set([...accepted.keys(), ...found.keys()])].flatMap((recipient) => {
          const toRecipient = sends.filter((send) => recipientOf(send) === recipient);
          const wanted = accepted.get(recipient) ?? 0;
          const counts = { found: found.get(recipient) ?? 0, wanted };
          return countFailure(` to ${recipient}`, counts, toRecipient);
        });
  // Any other client says itself that it failed, or what was not accepted.
  const mustSucceed = ending.kind === 'passed' && reports === undefined;
  return failures.filter(({ cause }) => mustSucceed || cause !== 'not_accepted');
}

/** How many messages were accepted, with faults and without. */
interface Counts {
  readonly found: number;
  readonly wanted: number;
}

/** The failure that the counts show, if they differ. `which`: which messages are counted. */
function countFailure(
  which: string,
  { found, wanted }: Counts,
  sends: readonly ClientExchange[],
): Failure[] {
  const accepted = `${counted(found, 'message')}${which} ${found === 1 ? 'was' : 'were'} accepted`;
  const counts = `${accepted}, and ${wanted} without faults`;
  if (found > wanted) {
    const what = `a message was sent twice: ${counts}; retry under the same request_id`;
    return [{ cause: 'sent_twice', what, exchanges: sends.filter(isAcceptedOrReplayed) }];
  }
  if (found === wanted) return [];
  const what = `the client ended without an error, but ${counts}; retry what was not accepted, or exit with an error`;
  return [{ cause: 'not_accepted', what, exchanges: sends }];
}
