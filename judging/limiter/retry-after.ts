/**
 * Judges what a 429 says: the wait of its `Retry-After`, and its `detail`. Rules: ERR-3, ERR-4.
 */
import { secondMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import {
  type Exchange,
  isRefused,
  isReplay,
  isUncertain,
  mayHaveRestarted,
} from '../evidence/exchange.ts';
import * as verify from '../service/expectations.ts';
import { type Findings, spanErrorOf, type Trace } from '../service/judge.ts';
import { othersIn } from './other-traffic.ts';
import { firstThat } from './space/decision.ts';
import { bucketKeyOf, bucketsOf } from './throttle.ts';

export const retryAfterJudges = {
  'ERR-3': judgeRetryAfter,
  'ERR-4': judgeDetail,
} as const;

/** A window of one minute, and a second for rounding up. */
const longestWaitSeconds = 61;

/**
 * ERR-3: after `Retry-After` a request passes, and a second earlier it does not. Refused requests
 * may prolong the wait (`refusedSpendsToken`), so only the last 429 says when one must pass; none may
 * pass before the end of any 429's wait.
 */
function judgeRetryAfter(trace: Trace, findings: Findings): void {
  const refusals = limited429sIn(trace);
  if (refusals.length === 0) noteMissing429(trace, findings);
  const buckets = requestsIn(trace);
  let isFollowed = false;
  for (const refusal of refusals) {
    findings.judge([refusal], () => {
      const seconds = verify.retryAfter(refusal.reply);
      const isPermitted = seconds >= 1 && seconds <= longestWaitSeconds;
      const expected = `between 1 and ${longestWaitSeconds} seconds`;
      verify.that(isPermitted, expected, refusal.reply);
    });
    const requests = buckets.get(bucketKeyOf(refusal) ?? '');
    const wait = requests && waitAfter(trace, refusal, requests);
    if (wait === undefined) continue;
    judgeEarlyRequests(trace, wait, findings);
    isFollowed = judgeNextRequest(trace, wait, findings) || isFollowed;
  }
  if (!isFollowed && findings.broken === undefined && trace.recorded === undefined) {
    // A wait in the permitted range alone does not exercise the rule: that takes a request after it.
    findings.exercised = 0;
    findings.lack(
      'a 429 and a request that follows it after its wait, with a whole reply: --timeout 2m',
    );
  }
}

function limited429sIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter((each) => isRefused(each) && bucketKeyOf(each) !== undefined);
}

function noteMissing429(trace: Trace, findings: Findings): void {
  const isOfAddress = trace.exchanges.some(({ caller }) => caller.account === undefined);
  findings.lack(
    isOfAddress
      ? 'a target that throttles calls without a key (unauthenticatedThrottle, errorsSpendToken)'
      : 'a 429',
  );
}

/** The requests to one bucket, in the order in which they were sent. */
interface BucketRequests {
  readonly exchanges: readonly Exchange[];
  /** From this index on, each request has exact times, and the target did not restart. */
  readonly exactFrom: number;
}

function requestsIn({ exchanges, hasExactTimes }: Trace): ReadonlyMap<string, BucketRequests> {
  const isRough = (one: Exchange) =>
    mayHaveRestarted(one) || (!hasExactTimes && one.reply.isLate === true);
  const buckets = grouped(exchanges, (one) => bucketKeyOf(one) ?? '');
  return new Map(
    [...buckets].map(([name, requests]) => {
      const exactFrom = requests.findLastIndex(isRough) + 1;
      return [name, { exchanges: requests, exactFrom }];
    }),
  );
}

/** The wait that a 429 states, and the requests to the same bucket that followed. */
interface Wait {
  readonly refusal: Exchange;
  readonly seconds: number;
  /** Before this time, no token can have come back. */
  readonly tooEarlyUntil: number;
  /** From this time on, a token must be there. */
  readonly enoughAt: number;
  readonly later: readonly Exchange[];
}

/** Undefined if the times of one of these requests are not certain. */
function waitAfter(
  trace: Trace,
  refusal: Exchange,
  { exchanges, exactFrom }: BucketRequests,
): Wait | undefined {
  const spanErrorMs = spanErrorOf(trace);
  const seconds = Number(refusal.reply.headers['retry-after'] ?? Number.NaN);
  const answeredBy = refusal.answeredAt + spanErrorMs;
  const isLater = (i: number) => (exchanges[i]?.sentAt ?? 0) >= answeredBy;
  const from = firstThat(0, exchanges.length, isLater);
  const isRough = !trace.hasExactTimes && refusal.reply.isLate;
  if (isRough || from < exactFrom) return undefined;
  return {
    refusal,
    seconds,
    tooEarlyUntil: refusal.sentAt + (seconds - 1) * secondMs - spanErrorMs,
    enoughAt: refusal.answeredAt + seconds * secondMs + spanErrorMs,
    later: exchanges.slice(from),
  };
}

/** A request before the wait is over must also be refused. */
function judgeEarlyRequests({ recorded }: Trace, wait: Wait, findings: Findings): void {
  const { refusal, seconds, tooEarlyUntil, later } = wait;
  for (const early of later) {
    if (early.sentAt > tooEarlyUntil) break;
    if (early.answeredAt > tooEarlyUntil) continue;
    const isSimultaneous = early === refusal || early.answeredAt <= refusal.answeredAt;
    // Recorded errors and replays may spend nothing, so they may pass.
    const isFree = !isRefused(early) && (early.reply.status >= 300 || isReplay(early));
    if (isSimultaneous || isUncertain(early) || (recorded !== undefined && isFree)) continue;
    const expected = `429 one second before Retry-After (${seconds} s) is over`;
    findings.judgeThat([refusal, early], early.reply.status === 429, expected);
  }
}

/** The next request must pass if it came after the wait. False if it was not judged. */
function judgeNextRequest(trace: Trace, wait: Wait, findings: Findings): boolean {
  const { refusal, seconds, enoughAt, later } = wait;
  if (trace.recorded !== undefined && !isAlone(trace, refusal)) return false;
  const next = later.find((one) => one !== refusal);
  if (next === undefined || next.sentAt < enoughAt || isUncertain(next)) return false;
  if (isRefused(next) && mayBeTaken(trace, wait, next, findings)) return false;
  // A deactivated SIM is refused with 503 after the limit has let the send pass.
  const hasPassed = next.reply.status < 500 || next.sender?.is === 'inactive';
  const expected = `a success when Retry-After (${seconds} s) is over`;
  findings.judgeThat([refusal, next], hasPassed && next.reply.status !== 429, expected);
  return true;
}

/** True if another request, of this run or of another client, may have taken the token. */
function mayBeTaken(
  trace: Trace,
  { refusal, tooEarlyUntil }: Wait,
  next: Exchange,
  findings: Findings,
): boolean {
  const bucket = bucketsOf(trace).find(({ exchanges }) => exchanges.includes(refusal));
  if (bucket === undefined) return false;
  const isTakenByRun = bucket.exchanges.some(
    (exchange) =>
      (!isRefused(exchange) || isUncertain(exchange)) &&
      exchange.answeredAt > tooEarlyUntil &&
      exchange.sentAt < next.answeredAt,
  );
  const others = isTakenByRun || trace.recorded !== undefined ? undefined : othersIn(trace, bucket);
  if (others !== undefined) findings.lack(others.need);
  return isTakenByRun || others !== undefined;
}

/**
 * True if no other exchange of the recording overlaps the refusal, so nothing else can have spent.
 * A 429 does not say whose key it refused: until another reply does, its requests are spread over
 * two buckets.
 */
function isAlone(trace: Trace, { caller, sentAt, answeredAt }: Exchange): boolean {
  const { exchanges, recorded } = trace;
  const isKnown = recorded?.isComplete === true && recorded.isOneAccount;
  if (caller.account === undefined || !isKnown) return false;
  const untilMs = answeredAt + spanErrorOf(trace);
  return exchanges.filter((one) => one.sentAt < untilMs && one.answeredAt > sentAt).length === 1;
}

/** ERR-4: `detail` states the header's seconds, rounded up. */
function judgeDetail(trace: Trace, findings: Findings): void {
  const refusals = limited429sIn(trace);
  if (refusals.length === 0) noteMissing429(trace, findings);
  for (const refusal of refusals) {
    findings.judge([refusal], () => {
      const { reply } = refusal;
      const seconds = verify.retryAfter(reply);
      verify.declaredJson(reply);
      const { detail } = verify.object(reply);
      const isText = typeof detail === 'string' && /[a-z]/i.test(detail);
      const statesWait = isText && secondsIn(detail).includes(seconds);
      verify.that(statesWait, `a detail that states ${seconds} seconds`, reply);
    });
  }
}

function secondsIn(text: string): number[] {
  return (text.match(/\d+(?:\.\d+)?/g) ?? []).map((number) => Math.ceil(Number(number)));
}
