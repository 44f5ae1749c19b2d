/**
 * Judges one run of the client: the client rules that it broke, and the messages that were sent
 * twice or not at all, compared with the run without faults.
 */
import { type Point, refusalNamed, type Schedule } from '#contract/fault-schedule.ts';
import type { ClientRuleId } from '#contract/rules.ts';
import { counted } from '#io/terminal.ts';
import { earlyFinding, isEarly } from '#judging/client/client-1-retry-after.ts';
import {
  type ClientExchange,
  isAcceptedOrReplayed,
  isRefusal,
  recipientAndTextOf,
} from '#judging/client/exchange.ts';
import { plainNumber, type ReportedIntent } from '#judging/client/intents-file.ts';
import { judge } from '#judging/client/judge.ts';
import { isSend } from '#judging/evidence/exchange.ts';
import {
  type Accepted,
  acceptedIn,
  newlyAccepted,
  type RawRun,
  recipientOf,
  totalOf,
} from './client-run.ts';

export interface Failure {
  readonly cause: ClientRuleId | 'sent_twice' | 'not_accepted' | 'timeout' | 'failed';
  readonly what: string;
  readonly exchanges: readonly ClientExchange[];
}

export interface Expected {
  /** Undefined if the recipients differ between runs without faults: only the total counts. */
  readonly accepted: Accepted | undefined;
  readonly total: number;
  /** By recipient and text, where these are the same in the runs without faults. */
  readonly texts: Accepted;
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
  // Without reports, a client that ends with an error says that it gave up, as CLIENT-9 asks.
  const saysGivingUp = reports === undefined && ending.kind === 'failed';
  /** True if the message was certainly refused, and another one was accepted in its place. */
  const isReplaced = ([send]: readonly ClientExchange[]) =>
    reports === undefined &&
    send !== undefined &&
    gotAsManyAsExpected(send, exchanges, expected) &&
    intents.all.find(({ attempts }) => attempts.includes(send))?.attempts.every(isRefused) === true;
  return rules
    .filter(({ verdict }) => verdict === 'failed')
    .flatMap(({ id, findings }) =>
      findings.flatMap((finding): Failure[] => {
        const { what, exchanges: proof } = finding;
        if (id !== 'CLIENT-9') return [{ cause: id, what, exchanges: proof }];
        if (isReplaced(proof)) return earlyReplacement(proof, exchanges);
        return saysGivingUp ? [] : [{ cause: id, what, exchanges: proof }];
      }),
    );
}

/** The status alone shows a refusal, also where the reply's body was garbled. */
function isRefused(send: ClientExchange): boolean {
  return isRefusal({ ...send, isSeen: send.isSeen || send.isGarbled === true });
}

/**
 * True if the recipient of the send got as many messages as without faults, and none of them more
 * often. Then a message that was certainly refused is not lost: it was sent with another text, such
 * as a new code.
 */
function gotAsManyAsExpected(
  send: ClientExchange,
  exchanges: readonly ClientExchange[],
  expected: Expected | undefined,
): boolean {
  if (expected === undefined) return false;
  const found = acceptedIn(exchanges);
  const recipient = recipientOf(send);
  if (expected.accepted === undefined)
    return found.has(recipient) && totalOf(found) >= expected.total;
  if ((found.get(recipient) ?? 0) < (expected.accepted.get(recipient) ?? 0)) return false;
  const texts = acceptedIn(exchanges, recipientAndTextOf);
  const isCopied = ([text, wanted]: [string, number]) => (texts.get(text) ?? 0) > wanted;
  return ![...expected.texts].some(isCopied);
}

/**
 * A message that takes the place of a refused one is its retry (CLIENT-1). Which one does is not
 * known, so each that was accepted must have come before the wait was over.
 */
function earlyReplacement(
  [refused]: readonly ClientExchange[],
  exchanges: readonly ClientExchange[],
): Failure[] {
  const later = newlyAccepted(exchanges).filter(
    (send) =>
      refused !== undefined &&
      send.number > refused.number &&
      send.endpoint === refused.endpoint &&
      recipientOf(send) === recipientOf(refused),
  );
  const [request] = later;
  const isCertain =
    request && refused?.isSeen && later.every((one) => isEarly({ refused, request: one }));
  return isCertain ? [{ cause: 'CLIENT-1', ...earlyFinding({ refused, request }) }] : [];
}

/** What was accepted more or less often than without faults. */
function countFailures(
  { ending, reports = [] }: RawRun,
  exchanges: readonly ClientExchange[],
  expected: Expected | undefined,
): Failure[] {
  if (expected === undefined) return [];
  const found = acceptedIn(exchanges);
  const sends = exchanges.filter(isSend);
  const { accepted } = expected;
  const hasPassed = ending.kind === 'passed';
  if (accepted === undefined) {
    const counts = { found: totalOf(found), wanted: expected.total };
    return countFailure({ which: '', ...counts, sends, lines: reports, hasPassed });
  }
  return [...new Set([...accepted.keys(), ...found.keys()])].flatMap((recipient) =>
    countFailure({
      which: ` to ${recipient}`,
      found: found.get(recipient) ?? 0,
      wanted: accepted.get(recipient) ?? 0,
      sends: sends.filter((send) => recipientOf(send) === recipient),
      lines: reports.filter(({ to }) => plainNumber(to) === recipient),
      hasPassed,
    }),
  );
}

/** How many messages were accepted, with faults and without, and what the client says of them. */
interface Count {
  /** Which messages are counted: empty, or to whom they went. */
  readonly which: string;
  readonly found: number;
  readonly wanted: number;
  readonly sends: readonly ClientExchange[];
  /** What the client's file says of them. */
  readonly lines: readonly ReportedIntent[];
  /** False if the exit code admits that something was not accepted. */
  readonly hasPassed: boolean;
}

/**
 * The failure that the counts show, if they differ. Lines may name a message to somebody who gets
 * none without faults, and must admit what was not accepted, unless the exit code does.
 */
function countFailure({ which, found, wanted, sends, lines, hasPassed }: Count): Failure[] {
  const accepted = `${counted(found, 'message')}${which} ${found === 1 ? 'was' : 'were'} accepted`;
  const counts = `${accepted}, and ${wanted} without faults`;
  if (found > wanted) {
    if (wanted === 0 && lines.length >= found) return [];
    const what =
      wanted === 0
        ? `a message went to a recipient who gets none without faults: ${counts}; send to its own recipient alone, or name it in a line of the intents file`
        : `a message was sent twice: ${counts}; retry under the same request_id`;
    return [{ cause: 'sent_twice', what, exchanges: sends.filter(isAcceptedOrReplayed) }];
  }
  const isUnknown = sends.some(({ isSeen }) => !isSeen);
  const isAdmitted = ({ reported }: ReportedIntent) =>
    reported === 'failed' || (reported === 'unknown' && isUnknown);
  if (!hasPassed || wanted - found <= lines.filter(isAdmitted).length) return [];
  const what = `the client ended without an error, but ${counts}; retry what was not accepted, or exit with an error`;
  return [{ cause: 'not_accepted', what, exchanges: sends }];
}
