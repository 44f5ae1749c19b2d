/**
 * Judges limits, 429s and their waits. Rules: LIMIT-1 to LIMIT-7, AUTH-6, READ-3, ERR-3, ERR-4.
 * A bucket belongs to an endpoint and an account, or to an endpoint and an address; all limits
 * follow from that one sentence, so their rules share one judgement of other buckets.
 */
import { minuteMs } from '../../src/ledger/time-units.ts';
import { type Endpoint, limits } from '../buckets.ts';
import * as verify from '../verify.ts';
import { type Exchange, isUncertain } from './exchange.ts';
import { type Findings, type Judge, slackOf, type Trace } from './judge.ts';
import {
  type Bucket,
  isRefused,
  isReplay,
  isWeighted,
  type Unexplained,
  unexplained,
  wasFull,
} from './limiter.ts';
import { othersIn } from './other-traffic.ts';
import { judgeNotQueued } from './replay.ts';

function isLimited(endpoint: Exchange['endpoint']): endpoint is Endpoint {
  return endpoint !== undefined && endpoint in limits;
}

/** The bucket that a request spends from; undefined if its owner is unknown. */
function bucketOf({ endpoint, caller }: Exchange): string | undefined {
  const owner = caller.account ?? caller.address;
  return isLimited(endpoint) && owner !== undefined ? `${endpoint} of ${owner}` : undefined;
}

/** The buckets that the case used, with all that the run spent from them in the minutes before. */
export function bucketsOf(trace: Trace): Bucket[] {
  const used = new Map<string, Exchange>();
  for (const exchange of trace.exchanges) {
    const name = bucketOf(exchange);
    if (name !== undefined && !used.has(name)) used.set(name, exchange);
  }
  return [...used].map(([name, first]) => {
    const last = trace.exchanges.findLast((exchange) => bucketOf(exchange) === name) ?? first;
    const isRecent = ({ answeredAt, sentAt }: Exchange) =>
      answeredAt > first.sentAt - 2 * minuteMs && sentAt <= last.answeredAt;
    return {
      name: `${first.endpoint}`,
      limit: limits[first.endpoint as Endpoint],
      isOfAddress: first.caller.account === undefined,
      exchanges: trace.log.filter((exchange) => bucketOf(exchange) === name && isRecent(exchange)),
      knownSince: first.caller.isNew ? Number.NEGATIVE_INFINITY : trace.knownSince,
      hasExactTimes: trace.hasExactTimes,
      slackMs: slackOf(trace),
      ...(trace.recorded !== undefined && { ahead: trace.recorded.ahead }),
    };
  });
}

function judgeBucket(trace: Trace, bucket: Bucket, findings: Findings): void {
  if (bucket.exchanges.some(isUncertain)) {
    findings.missing ??= new verify.PreconditionMissing(
      'needed a flood without a broken connection: a repeated request may spend twice',
    );
    return;
  }
  const refusals = bucket.exchanges.filter(isRefused);
  const { recorded } = trace;
  // Another key of the recording may belong to the same account.
  const isShared = recorded !== undefined && !recorded.isOneAccount;
  const alone = unexplained(bucket, isShared);
  const isAlone = alone === undefined || recorded !== undefined;
  const others = isAlone ? undefined : othersIn(trace, bucket);
  // Another client explains a refusal, and never that more passed.
  const found = others === undefined ? alone : unexplained(bucket, true);
  if (others !== undefined && found === undefined) {
    findings.lack(others);
    return;
  }
  if (found === undefined && refusals.length === 0) {
    if (bucket.exchanges.length <= bucket.limit)
      findings.lack(`more than ${bucket.limit} requests`);
    // No 429 is expected if a refused call spends nothing (`errorsSpendToken`,
    // `unauthenticatedThrottle`).
    else if (bucket.isOfAddress) findings.exercised += 1;
    return;
  }
  const granted = bucket.exchanges.filter((exchange) => !isRefused(exchange));
  const isKnown =
    (recorded === undefined && wasFull(bucket, granted)) ||
    refusals.some(({ sentAt }) => sentAt - minuteMs >= bucket.knownSince);
  if (found === undefined && (!isKnown || refusals.length === bucket.exchanges.length))
    findings.lack(
      'a bucket that was full at the start: leave a minute between two runs, or add --timeout 2m',
    );
  else
    findings.judge(bucket.exchanges, () => {
      if (found === undefined) return;
      const more = found.isTooFew ? '' : inTurn(bucket, found.exchange);
      verify.fail(found.expected, `${found.actual}${more}`, found.exchange.reply.exchange);
    });
}

/** What the same bucket let pass later, when each request waited for the reply to the one before. */
function inTurn({ exchanges, limit }: Bucket, { answeredAt }: Exchange): string {
  const start = exchanges.findLastIndex(
    ({ sentAt }, i) =>
      sentAt > answeredAt + minuteMs && sentAt > (exchanges[i - 1]?.answeredAt ?? 0) + minuteMs,
  );
  const later = start < 0 ? [] : exchanges.slice(start);
  const isInTurn = later.every((exchange, i) => exchange.sentAt >= (later[i - 1]?.answeredAt ?? 0));
  const passed = later.filter((exchange) => !isRefused(exchange)).length;
  if (!isInTurn || later.length <= limit || passed > limit + 1) return '';
  return `, but ${passed} when each waited for the one before: the limit breaks when requests arrive at once`;
}

/** A limit of one endpoint, for each account; what it refuses is not queued. */
function limitOn(endpoint: Endpoint): Judge {
  return (trace, findings) => {
    for (const bucket of bucketsOf(trace))
      if (bucket.name === endpoint && !bucket.isOfAddress) judgeBucket(trace, bucket, findings);
    judgeNotQueued(trace, findings, [429]);
  };
}

/** LIMIT-7 and AUTH-6: each bucket is explained by its own requests. */
const everyBucket: Judge = (trace, findings) => {
  for (const bucket of bucketsOf(trace)) {
    const found = trace.recorded === undefined ? unexplained(bucket) : undefined;
    if (found !== undefined && isWeighted(spentFrom(trace, bucket, found), found))
      findings.lack('a limiter that counts each minute for itself');
    else judgeBucket(trace, bucket, findings);
  }
};

/** All that the run spent from the bucket: a 429 may come before the first request of the case. */
function spentFrom({ log }: Trace, bucket: Bucket, { exchange }: Unexplained): Bucket {
  const name = bucketOf(exchange);
  return { ...bucket, exchanges: log.filter((exchange) => bucketOf(exchange) === name) };
}

/** A limit like those of the other endpoints would show. */
const fewestInAMinute = limits.send + 1;

/** The most requests that were sent and answered within one minute. */
export function mostInAMinute(
  exchanges: readonly Pick<Exchange, 'sentAt' | 'answeredAt'>[],
): number {
  const sent = exchanges.map(({ sentAt }) => sentAt).sort((a, b) => a - b);
  const answered = exchanges.map(({ answeredAt }) => answeredAt).sort((a, b) => a - b);
  const long = exchanges.filter(({ sentAt, answeredAt }) => answeredAt - sentAt > minuteMs);
  let [most, ended] = [0, 0];
  for (const [begunBefore, start] of sent.entries()) {
    const end = start + minuteMs;
    while ((answered[ended] ?? end) < end) ended++;
    const spanning = long.filter(
      (exchange) => exchange.sentAt < start && exchange.answeredAt >= end,
    ).length;
    most = Math.max(most, ended - (begunBefore - spanning));
  }
  return most;
}

/** READ-3, LIMIT-6: no read is throttled, and neither are statistics. */
const neverThrottled: Judge = ({ exchanges }, findings) => {
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
    const most = mostInAMinute(answered);
    verify.given(() =>
      verify.that(
        most >= fewestInAMinute || (isWhileThrottled && answered.length > 0),
        `${fewestInAMinute} replies within a minute`,
        `${most}: the target is too slow to show a limit`,
      ),
    );
  });
};

function throttledIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter((exchange) => isRefused(exchange) && bucketOf(exchange) !== undefined);
}

function lackOf429(trace: Trace, findings: Findings): void {
  const isOfAddress = trace.exchanges.some(({ caller }) => caller.account === undefined);
  findings.lack(
    isOfAddress
      ? 'a target that throttles calls without a key (unauthenticatedThrottle, errorsSpendToken)'
      : 'a 429',
  );
}

/**
 * ERR-3: after `Retry-After` a request passes, and a second earlier none does. A refused request
 * may count as a request (`refusedSpendsToken`), so only the last 429 states the wait.
 */
const retryAfter: Judge = (trace, findings) => {
  const refusals = throttledIn(trace);
  if (refusals.length === 0) lackOf429(trace, findings);
  let isFollowed = false;
  for (const refusal of refusals) {
    findings.judge([refusal], () => {
      const seconds = verify.retryAfter(refusal.reply);
      verify.that(seconds >= 1 && seconds <= 61, 'between 1 and 61 seconds', refusal.reply);
    });
    isFollowed = judgeWait(trace, refusal, findings) || isFollowed;
  }
  if (!isFollowed && findings.broken === undefined && trace.recorded === undefined) {
    findings.exercised = 0;
    findings.lack(
      'a 429 and a request that follows it after its wait: --timeout 2m, and no broken connection',
    );
  }
};

/** True if a request came after the wait, and nothing else was spent meanwhile. */
function judgeWait(trace: Trace, refusal: Exchange, findings: Findings): boolean {
  const { exchanges, recorded } = trace;
  const slackMs = slackOf(trace);
  const seconds = Number(refusal.reply.headers['retry-after'] ?? Number.NaN);
  const later = exchanges.filter(
    (exchange) =>
      bucketOf(exchange) === bucketOf(refusal) &&
      exchange.sentAt >= refusal.answeredAt + slackMs &&
      exchange !== refusal,
  );
  if (later.some(isUncertain)) return false;
  const tooEarlyUntil = refusal.sentAt + (seconds - 1) * 1_000 - slackMs;
  const enoughAt = refusal.answeredAt + seconds * 1_000 + slackMs;
  for (const exchange of later)
    if (
      exchange.answeredAt <= tooEarlyUntil &&
      exchange.answeredAt > refusal.answeredAt &&
      // Recorded errors and replays may spend nothing.
      (recorded === undefined ||
        isRefused(exchange) ||
        (exchange.reply.status < 300 && !isReplay(exchange)))
    )
      findings.judgeThat(
        [refusal, exchange],
        exchange.reply.status === 429,
        `429 one second before Retry-After (${seconds} s) is over`,
      );
  if (recorded !== undefined && !isAlone(trace, refusal)) return false;
  const [next] = later;
  if (next === undefined || next.sentAt < enoughAt) return false;
  const bucket = bucketsOf(trace).find(({ exchanges: all }) => all.includes(refusal));
  // A request that was on its way may have taken the place that became free.
  const isTaken = bucket?.exchanges.some(
    (exchange) =>
      !isRefused(exchange) &&
      exchange !== next &&
      exchange.answeredAt > tooEarlyUntil &&
      exchange.sentAt < next.answeredAt,
  );
  if (next.reply.status === 429 && isTaken) return false;
  const others =
    next.reply.status === 429 && bucket && recorded === undefined
      ? othersIn(trace, bucket)
      : undefined;
  if (others !== undefined) {
    findings.lack(others);
    return false;
  }
  findings.judgeThat(
    [refusal, next],
    next.reply.status !== 429 && next.reply.status < 500,
    `a success when Retry-After (${seconds} s) is over`,
  );
  return true;
}

/**
 * True if nothing else of the recording may have spent at the same time as the refusal. A 429 does
 * not say whose key it refused: until another reply does, its requests are spread over two buckets.
 */
function isAlone({ exchanges, recorded }: Trace, refusal: Exchange): boolean {
  const { caller, sentAt, answeredAt } = refusal;
  if (caller.account === undefined) return false;
  const slackMs = slackOf({ ...(recorded !== undefined && { recorded }) });
  const near = exchanges.filter(
    (exchange) => exchange.sentAt < answeredAt + slackMs && exchange.answeredAt > sentAt,
  );
  return recorded?.isComplete === true && recorded.isOneAccount && near.length === 1;
}

/** ERR-4: `detail` states the header's seconds, rounded up. */
const detailStatesTheWait: Judge = (trace, findings) => {
  const refusals = throttledIn(trace);
  if (refusals.length === 0) lackOf429(trace, findings);
  for (const refusal of refusals)
    findings.judge([refusal], () => {
      const { reply } = refusal;
      const wait = verify.retryAfter(reply);
      verify.declaredJson(reply);
      const { detail } = verify.object(reply);
      verify.that(
        typeof detail === 'string' && /[a-z]/i.test(detail) && secondsIn(detail).includes(wait),
        `a detail that states ${wait} seconds`,
        reply,
      );
    });
};

function secondsIn(text: string): number[] {
  return (text.match(/\d+(?:\.\d+)?/g) ?? []).map((number) => Math.ceil(Number(number)));
}

export const throttleJudges = {
  'LIMIT-1': limitOn('send'),
  'LIMIT-2': limitOn('dashboard_send'),
  'LIMIT-3': limitOn('external_send'),
  'LIMIT-4': limitOn('received'),
  'LIMIT-5': limitOn('tasks'),
  'LIMIT-6': neverThrottled,
  'LIMIT-7': everyBucket,
  'AUTH-6': everyBucket,
  'READ-3': neverThrottled,
  'ERR-3': retryAfter,
  'ERR-4': detailStatesTheWait,
} as const;
