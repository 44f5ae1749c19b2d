/**
 * Judges limits: which requests pass, and which are answered 429. Rules: LIMIT-1 to LIMIT-7,
 * AUTH-6, READ-3. `retry-after.ts` judges what a 429 says. A bucket belongs to an endpoint and an
 * account, or to an endpoint and an address. All limits follow from that sentence, so the rules
 * share `judgeBucket`; `explained.ts` decides whether a permitted limiter explains the replies of a
 * bucket.
 */
import { documentedLimits, type LimitedEndpoint } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { type Exchange, isRefused, isSend, mayHaveRestarted } from '../evidence/exchange.ts';
import { isSuccess } from '../evidence/reply.ts';
import * as verify from '../service/expectations.ts';
import { type Findings, type Judge, spanErrorOf, type Trace } from '../service/judge.ts';
import { judgeNotQueued } from '../service/replay.ts';
import { type Bucket, decidedBy } from './bucket.ts';
import { passedBefore, type Unexplained, unexplained } from './explained.ts';
import { longestReachMs } from './models.ts';
import { othersIn } from './other-traffic.ts';
import { mostWithin, type Span } from './space/decision.ts';

export const throttleJudges = {
  'LIMIT-1': limitOn('send'),
  'LIMIT-2': limitOn('dashboard_send'),
  'LIMIT-3': limitOn('external_send'),
  'LIMIT-4': limitOn('received'),
  'LIMIT-5': limitOn('tasks'),
  'LIMIT-6': judgeNeverThrottled,
  'LIMIT-7': judgeEveryBucket,
  'AUTH-6': judgeEveryBucket,
  'READ-3': judgeNeverThrottled,
} as const;

/** A limit of one endpoint, for each account. A send that it refuses is not queued. */
function limitOn(endpoint: LimitedEndpoint): Judge {
  return (trace, findings) => {
    for (const bucket of bucketsOf(trace))
      if (bucket.endpoint === endpoint && !bucket.isOfAddress) judgeBucket(trace, bucket, findings);
    const isExercised = findings.exercised > 0;
    judgeNotQueued(trace, findings, [429]);
    // A send that was refused and not queued shows nothing of a limit that could not be judged.
    if (!isExercised) findings.exercised = 0;
  };
}

/** What is further back than this explains no reply. */
const lookBackMs = longestReachMs + minuteMs;

/**
 * The buckets that the case used, with what the run spent from them in the minutes before. Where
 * older exchanges are left out, the bucket is known only from there on.
 */
export function bucketsOf(trace: Trace): Bucket[] {
  const firstUses = new Map<string, Exchange>();
  for (const exchange of trace.exchanges) {
    const key = bucketKeyOf(exchange);
    if (key !== undefined && !firstUses.has(key)) firstUses.set(key, exchange);
  }
  return [...firstUses.values()].map((first) => {
    const endpoint = first.endpoint as LimitedEndpoint;
    const isInBucket = (one: Exchange) =>
      one.endpoint === endpoint && ownerOf(one.caller) === ownerOf(first.caller);
    const last = trace.exchanges.findLast(isInBucket) ?? first;
    const ofBucket = decidedBy(trace.log.filter(isInBucket), last.answeredAt);
    const exchanges = ofBucket.filter(({ answeredAt }) => answeredAt > first.sentAt - lookBackMs);
    const isCut = exchanges[0] !== ofBucket[0];
    const isOfAddress = first.caller.account === undefined;
    // A request that claims to be forwarded may count for its own address or for another
    // (`clientIp`).
    const mayBeInBucket = ({ endpoint: of, caller, sentAt }: Exchange) =>
      of === endpoint &&
      ownerOf(caller) === undefined &&
      sentAt > first.sentAt - lookBackMs &&
      sentAt <= last.answeredAt;
    const knownSince = first.caller.isNew ? Number.NEGATIVE_INFINITY : trace.knownSince;
    return {
      endpoint,
      limit: documentedLimits[endpoint],
      isOfAddress,
      ...(isOfAddress && { ofUnknown: trace.log.filter(mayBeInBucket) }),
      exchanges,
      knownSince: isCut ? Math.max(knownSince, first.sentAt - lookBackMs) : knownSince,
      hasExactTimes: trace.hasExactTimes,
      ahead: trace.recorded?.ahead ?? last.ahead,
      spanErrorMs: spanErrorOf(trace),
    };
  });
}

/** Equal for requests that spend from one bucket; undefined if none is known. */
export function bucketKeyOf({ endpoint, caller }: Exchange): string | undefined {
  const owner = ownerOf(caller);
  const isLimited = endpoint !== undefined && endpoint in documentedLimits;
  return isLimited && owner !== undefined ? `${endpoint} of ${owner}` : undefined;
}

/** The account, or the address of a request without one; undefined if neither is known. */
function ownerOf({ account, address }: Exchange['caller']): string | undefined {
  return account ?? address;
}

function judgeBucket(trace: Trace, bucket: Bucket, findings: Findings): void {
  const missing = missingPrecondition(trace, bucket);
  if (missing !== undefined) {
    findings.lack(new verify.PreconditionMissing(missing));
    return;
  }
  const { recorded } = trace;
  // Another key of the recording may belong to the same account.
  const isShared = recorded !== undefined && !recorded.isOneAccount;
  const fault = unexplained(bucket, isShared ? 'certain' : 'none');
  if (fault === undefined) {
    countExercise(trace, bucket, findings);
    return;
  }
  const others = recorded === undefined ? othersIn(trace, bucket) : undefined;
  const certainFault =
    others === undefined ? fault : unexplained(bucket, others.areSeen ? 'certain' : 'possible');
  if (certainFault !== undefined)
    findings.judge(bucket.exchanges, () => failLimit(trace, bucket, certainFault));
  else if (others !== undefined) findings.lack(others.need);
}

/** What a judgement needs and these exchanges lack; undefined if nothing. */
function missingPrecondition({ hasExactTimes }: Trace, { exchanges }: Bucket): string | undefined {
  if (exchanges.some(mayHaveRestarted))
    return 'needed a target that stays up: a connection broke twice in a row, so it may have restarted';
  const isTooLate = !hasExactTimes && exchanges.some(({ reply }) => reply.isLate);
  return isTooLate
    ? 'needed a machine that keeps up: this one stood still during the requests'
    : undefined;
}

/** A bucket without a fault exercises its rule if it was full once, and then throttled. */
function countExercise(trace: Trace, bucket: Bucket, findings: Findings): void {
  const { exchanges, limit, isOfAddress, knownSince } = bucket;
  const refusals = exchanges.filter(isRefused);
  const granted = exchanges.filter((exchange) => !isRefused(exchange));
  if (refusals.length === 0) {
    const refusal = refusalInsteadOf429(bucket);
    const expected = `429 after ${limit} requests in a minute`;
    if (refusal !== undefined) findings.judgeThat([refusal], false, expected, refusal.reply);
    else if (exchanges.length <= limit) findings.lack(`more than ${limit} requests`);
    // Calls without a key may never meet a 429 (`errorsSpendToken`, `unauthenticatedThrottle`).
    else if (isOfAddress) findings.exercised += 1;
    return;
  }
  // A refusal after fewer passes may be due to what the minute before the first known one held.
  const isJudged = (refusal: Exchange) =>
    refusal.sentAt - longestReachMs >= knownSince ||
    (refusal.sentAt - minuteMs >= knownSince && passedBefore(bucket, refusal) >= limit);
  const startedFull =
    (trace.recorded === undefined && wasFull(bucket, granted)) || refusals.some(isJudged);
  const advice = 'leave a minute between two runs, with --timeout 2m';
  if (startedFull && granted.length > 0) findings.exercised += 1;
  else findings.lack(`a bucket that was full at the start: ${advice}`);
}

/** Whether an error spends a token is open (`errorsSpendToken`), so this many count as passes. */
const mostErrors = 2;

/**
 * The first request that was refused with another status than 429, but with a wait, once the limit
 * had passed within a minute.
 */
function refusalInsteadOf429({ exchanges, limit }: Bucket): Exchange | undefined {
  const hasWait = ({ reply }: Exchange) =>
    reply.status >= 400 && reply.headers['retry-after'] !== undefined;
  return exchanges.filter(hasWait).find(({ sentAt, answeredAt }) => {
    const before = exchanges.filter(
      (one) => !hasWait(one) && one.answeredAt > sentAt - minuteMs && one.sentAt <= answeredAt,
    );
    const passed = before.filter(({ reply }) => isSuccess(reply)).length;
    const errors = before.filter(({ reply }) => reply.status === 400).length;
    return passed + Math.min(errors, mostErrors) >= limit;
  });
}

function failLimit(trace: Trace, bucket: Bucket, fault: Unexplained): never {
  const { exchange, expected, actual, isTooFew } = fault;
  if (isTooFew)
    verify.fail(
      expected,
      `${actual}${besideRevoked(trace, fault, bucket.limit)}`,
      exchange.reply.exchange,
    );
  const later = passedOneByOne(bucket, exchange);
  const comparison =
    later === undefined
      ? ''
      : `, but ${later} when each waited for the one before: the limit breaks when requests arrive at once`;
  verify.fail(expected, `${actual}${comparison}`, exchange.reply.exchange);
}

/** A flood has this many requests in flight when its limit is met. */
const mostInFlight = 16;

/**
 * Names the calls with a revoked key before a 429 that comes too soon, if they are about as many as
 * the limit lacks: they count for an address, and not for a user (AUTH-6).
 */
function besideRevoked({ log }: Trace, { exchange, passed }: Unexplained, limit: number): string {
  const { endpoint, caller, sentAt } = exchange;
  const revoked = log.filter(
    (one) =>
      one.endpoint === endpoint &&
      one.caller.key === 'revoked' &&
      one.sentAt <= sentAt &&
      one.answeredAt > sentAt - 2 * minuteMs,
  ).length;
  const mayExplain = revoked > 0 && Math.abs(passed + revoked - limit) <= mostInFlight;
  return mayExplain && caller.account !== undefined
    ? `, and after ${revoked} with a revoked key, which must not count for the user`
    : '';
}

/**
 * How many requests a later flood let pass in which each waited for the reply to the one before, if
 * that is the limit.
 */
function passedOneByOne({ exchanges, limit }: Bucket, fault: Exchange): number | undefined {
  const start = exchanges.findLastIndex(
    ({ sentAt }, i) =>
      sentAt > fault.answeredAt + minuteMs &&
      sentAt > (exchanges[i - 1]?.answeredAt ?? 0) + minuteMs,
  );
  const later = start < 0 ? [] : exchanges.slice(start);
  const isOneByOne = later.every(({ sentAt }, i) => sentAt >= (later[i - 1]?.answeredAt ?? 0));
  const passed = later.filter((exchange) => !isRefused(exchange)).length;
  return isOneByOne && later.length > limit && passed <= limit + 1 ? passed : undefined;
}

/** LIMIT-7 and AUTH-6: its own requests explain each bucket, without those of other buckets. */
function judgeEveryBucket(trace: Trace, findings: Findings): void {
  for (const bucket of bucketsOf(trace)) judgeBucket(trace, bucket, findings);
}

/** The bucket regains few tokens within this time. */
const burstMs = 15_000;

/** True if the first N requests passed in a burst: the bucket was full, whatever came before. */
function wasFull({ limit }: Bucket, granted: readonly Exchange[]): boolean {
  const [first] = granted;
  const last = granted[limit - 1];
  return first !== undefined && last !== undefined && last.answeredAt - first.sentAt < burstMs;
}

/** READ-3, LIMIT-6: no read is throttled, and neither are statistics. */
function judgeNeverThrottled({ exchanges, recorded }: Trace, findings: Findings): void {
  const free = exchanges.filter(
    ({ endpoint, caller }) =>
      (endpoint === 'read' || endpoint === 'stats') && caller.key === 'valid',
  );
  const isWhileThrottled = exchanges.some(isRefused);
  const refused = free.find(isRefused);
  const answered = free.filter(({ reply }) => reply.status === 200 || reply.status === 404);
  findings.judge(refused === undefined ? [] : [refused], () => {
    if (refused !== undefined) verify.status(refused.reply, 200, 404);
    for (const { reply } of free) verify.that(reply.status < 500, 'a reply to each', reply);
    const timesOf = ({ sentAt, answeredAt }: Exchange): Span => [sentAt, answeredAt];
    const most = mostWithin(answered, timesOf, minuteMs).length;
    verify.given(() =>
      verify.that(
        most >= fewestInAMinute || (isWhileThrottled && answered.length > 0),
        `${fewestInAMinute} replies within a minute`,
        recorded === undefined
          ? `${most}: ${whyTooFew(exchanges, free)}`
          : `${most} in the traffic`,
      ),
    );
  });
}

/** Why there are too few replies: a refused send left too little to read, or replies took long. */
function whyTooFew(exchanges: readonly Exchange[], free: readonly Exchange[]): string {
  const refused = exchanges.findLast(
    (one) => isSend(one) && !isSuccess(one.reply) && !isRefused(one),
  );
  if (refused === undefined || free.length >= fewestInAMinute)
    return 'the target is too slow to show a limit';
  return `a ${refused.method} to ${refused.path} was answered ${verify.describe(refused.reply)}`;
}

/** This many replies within a minute show that no limit of the other endpoints applies. */
const fewestInAMinute = documentedLimits.send + 1;
