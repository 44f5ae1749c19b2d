/**
 * Judges rules on a flood. Rules: LIMIT-1 to LIMIT-7, READ-3, AUTH-6, ERR-3, ERR-4. If the bucket
 * may not have been full, or the clock may have refilled it, a count that is too low or too high
 * proves nothing.
 */
import { minuteMs } from './buckets.ts';
import type { Live } from './case.ts';
import type { Reply } from './client.ts';
import { type Flood, floodOf } from './floods.ts';
import { lackThrottledStrangers, limited, passed } from './limited.ts';
import { recorded } from './recording.ts';
import type { Need } from './target.ts';
import type { Trial } from './trial.ts';
import * as verify from './verify.ts';

/** The variant of a case without a control port: judges the flood of its bucket. */
export function byFlood(
  bucket: keyof typeof floodOf,
  judge: (t: Trial, flood: Flood) => void,
  { needs = [], waits }: { readonly needs?: readonly Need[]; readonly waits?: number } = {},
): Live<void> {
  const flood = floodOf[bucket];
  return {
    needs: [...flood.needs, ...needs],
    judges: [flood],
    ...(waits !== undefined && { cost: { waits } }),
    run: async (t) => judge(t, await recorded(t, flood)),
  };
}

/** A longer wait than this means that the bucket does not refill continuously. */
const longestContinuousWait = 2;

/** Exactly as many requests pass as the limit allows. */
export function limitIsExact(t: Trial, flood: Flood): void {
  const { replies, refusals, before, limit } = flood;
  const isUnauthenticated = flood.bucket === 'address';
  for (const reply of replies)
    if (isUnauthenticated) verify.status(reply, 401, 429);
    else verify.that(passed(reply) || reply.status === 429, 'a success or 429', reply);
  const through = replies.length - refusals.length;
  const spent = before.passed + before.refused + before.replayed;
  const actual = `${through} of ${replies.length} passed, after ${spent} others`;
  const [refusal] = refusals;
  const isContinuous = Number(refusal?.headers['retry-after'] ?? 0) <= longestContinuousWait;
  const back = isContinuous ? Math.ceil((flood.tookMs / minuteMs) * limit) + 1 : 0;
  // Earlier requests no longer count if the bucket refills continuously, or was refilled meanwhile.
  const most = limit + back - (isContinuous || flood.mayHaveFilledBefore ? 0 : spent);
  if (through > most && flood.mayHaveFilled)
    t.lack('a flood that ends within one minute of the clock (the connection was too slow)');
  verify.that(
    through <= most && refusal !== undefined,
    `${limit} that pass in a minute, then 429`,
    actual,
  );
  const isFew = through + spent < limit;
  if (!flood.wasFull && isFew) lackFullBucket(t);
  verify.that(!isFew, `${limit} that pass in a minute`, actual);
  t.count();
}

function lackFullBucket(t: Trial): never {
  return t.lack(
    'a bucket that was full at the start: leave a minute between two runs, or add --timeout 2m',
  );
}

/** The 429s of the flood; without any, the case is not exercised. */
export function refusalsOf(t: Trial, flood: Flood): readonly Reply[] {
  verify.given(() =>
    verify.that(flood.refusals.length > 0, 'a 429', `none in ${flood.replies.length} requests`),
  );
  if (flood.refusals.length === flood.replies.length && !flood.wasFull)
    t.lack(
      'a bucket that was full at the start: leave a minute between two runs, or add --timeout 2m',
    );
  return flood.refusals;
}

/** ERR-3, judged on the wait after the flood. */
export function waitIsRight(t: Trial, flood: Flood): void {
  for (const refusal of refusalsOf(t, flood)) {
    const seconds = verify.retryAfter(refusal);
    verify.that(seconds >= 1 && seconds <= 61, 'between 1 and 61 seconds', refusal);
  }
  const { wait } = flood;
  if (wait === undefined) t.lack('a wait of 60 s (--timeout 2m)');
  const { early, after, seconds, lastSeconds } = wait;
  if (early !== undefined)
    verify.that(
      early.status === 429,
      `429 one second before Retry-After (${seconds} s) is over`,
      early,
    );
  const isThrough = flood.bucket === 'address' ? after.status === 401 : passed(after);
  verify.that(isThrough, `a success when Retry-After (${lastSeconds} s) is over`, after);
  t.count();
}

/**
 * Tokens return a minute after they were spent and not before. Exceptions: a continuous refill, and
 * a refill at each minute of the clock (`limiterRefill`), whose end may be a second off.
 */
export function returnsAfterAMinute(t: Trial, flood: Flood): void {
  const { wait, before, replies } = flood;
  if (wait === undefined) t.lack('a wait of 60 s (--timeout 2m)');
  if (wait.seconds <= longestContinuousWait)
    t.lack('a bucket that refills all at once, so that the time can be seen');
  const spent = [...before.times, ...replies];
  const [first = replies[0]] = before.times;
  if (first === undefined) return;
  const isEarly = wait.early !== undefined && passed(wait.early);
  if (!isEarly && wait.at - first.answeredAt >= minuteMs)
    verify.that(passed(wait.after), 'a success after a minute', wait.after);
  // The longest that the token can have been away, however slow the requests are.
  const backAt = isEarly ? wait.earlyAt : wait.after.answeredAt;
  const tookMs = backAt - first.sentAt;
  const refusals = [...flood.refusals, wait.refusal, ...(wait.early ? [wait.early] : [])];
  const waits = refusals
    .filter(({ status }) => status === 429)
    .map((reply) => ({ ...reply, seconds: verify.given(() => verify.retryAfter(reply)) }));
  const stated = returnTime(waits);
  const isShort = tookMs < minuteMs - shortestMs && !isAlignedReturn(stated, backAt);
  verify.that(
    !isShort,
    'no success before a minute is over',
    `a success after ${(tookMs / 1000).toFixed(1)} s, with ${flood.limit} before it`,
  );
  returnsInAMinute(stated, spent);
  t.count();
}

const shortestMs = 200;
const slackMs = 100;

interface ReturnTime {
  readonly from: number;
  readonly until: number;
}

interface StatedWait extends Pick<Reply, 'sentAt' | 'answeredAt'> {
  readonly seconds: number;
}

/**
 * When a token returns, narrowed to a fraction of a second by combining the waits of several
 * refusals.
 */
export function returnTime(waits: readonly StatedWait[]): ReturnTime {
  let [from, until] = [0, Number.POSITIVE_INFINITY];
  for (const { sentAt, answeredAt, seconds } of waits) {
    from = Math.max(from, sentAt + (seconds - 1) * 1_000);
    until = Math.min(until, answeredAt + seconds * 1_000);
  }
  return { from, until };
}

/**
 * True if the bucket was refilled by a minute of the clock (`limiterRefill`). A delayed run notices
 * this late; the 429s then give the time.
 */
export function isAlignedReturn({ from, until }: ReturnTime, backAt: number): boolean {
  return mayBeAligned(Math.min(from, backAt), Math.min(until, backAt));
}

/**
 * Requires that a token returns a minute after a request: the first one, or a later one if refusals
 * count too (`refusedSpendsToken`).
 */
function returnsInAMinute(
  { from, until }: ReturnTime,
  spent: readonly Pick<Reply, 'sentAt' | 'answeredAt'>[],
): void {
  const [first] = spent;
  if (from > until || first === undefined || mayBeAligned(from, until)) return;
  const isAMinuteAfter = spent.some(
    ({ sentAt, answeredAt }) =>
      until >= sentAt + minuteMs - slackMs && from <= answeredAt + minuteMs + slackMs,
  );
  verify.that(
    isAMinuteAfter,
    'a token that comes back a minute after it was spent',
    `by Retry-After, one comes back between ${((from - first.answeredAt) / 1000).toFixed(1)} and ${((until - first.sentAt) / 1000).toFixed(1)} s after the first`,
  );
}

const aboutMs = 2_000;

/** True if a minute of the clock begins in or near this interval. */
function mayBeAligned(from: number, until: number): boolean {
  return Math.floor((from - aboutMs) / minuteMs) !== Math.floor((until + aboutMs) / minuteMs);
}

/** ERR-4: `detail` states the header's seconds, rounded up. */
export function detailStatesTheWait(t: Trial, reply: Reply): void {
  const wait = verify.retryAfter(reply);
  verify.declaredJson(reply);
  const { detail } = verify.object(reply);
  verify.that(
    typeof detail === 'string' && /[a-z]/i.test(detail) && secondsIn(detail).includes(wait),
    `a detail that states ${wait} seconds`,
    reply,
  );
  t.count();
}

function secondsIn(text: string): number[] {
  return (text.match(/\d+(?:\.\d+)?/g) ?? []).map((number) => Math.ceil(Number(number)));
}

/** A request to another bucket directly after the flood must not be throttled. */
export function leavesAlone(name: string): (t: Trial, flood: Flood) => void {
  return (t, flood) => {
    refusalsOf(t, flood);
    for (const { reply } of flood.otherReplies.filter((one) => one.name === name)) {
      const expected = `no 429 for ${name} after a flood of ${flood.bucket}`;
      verify.that(reply.status !== 429, expected, reply);
      t.count();
    }
  };
}

/** Judges calls without a key, if their address has a limit at all. */
export function ifStrangersAreThrottled(judge: (t: Trial, flood: Flood) => void): typeof judge {
  return (t, flood) => {
    if (flood.refusals.length === 0) lackThrottledStrangers(t);
    judge(t, flood);
  };
}

/** The same for all other endpoints that were not flooded themselves. */
export function leavesTheOthers(t: Trial, flood: Flood): void {
  for (const { name } of flood.otherReplies)
    if (limited.some((one) => one.name === name)) leavesAlone(name)(t, flood);
  for (const reply of flood.reads) verify.that(reply.status !== 429, 'no 429 for a read', reply);
  t.count();
}
