/**
 * The steps before and after a flood. Before it: wait for a full bucket and the middle of a minute,
 * open connections, and send what must spend no token. After it: while the bucket is empty, send
 * all that the empty bucket must not affect; then wait as `Retry-After` says, with a request before
 * the end of the wait, which must be refused, and one after it, which must pass.
 * Rules: LIMIT-1, LIMIT-3 to LIMIT-7, READ-3, AUTH-6, ERR-3.
 */
import { limitedEndpoints } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import * as verify from '#judging/service/expectations.ts';
import { type Bucket, isSending } from '../run/budget.ts';
import { type AccountUnderTest, paths, type Trial, unknownId } from '../run/trial.ts';
import { SendsExhausted } from '../target/client.ts';
import {
  flood,
  isRefused,
  passed,
  pathFor,
  readMessageOf,
  recentRequests,
  requestTo,
} from './limited-requests.ts';

/** After this time without requests, every permitted bucket is full. */
export const fullAgainMs = 2 * minuteMs + 1_000;
/** Connections that a flood uses at the same time. */
const atOnce = 16;

/** Waits until a flood may start, opens connections, and sends what must spend no token. */
export async function prepareFlood(
  t: Trial,
  account: AccountUnderTest,
  bucket: Bucket,
  requests: number,
): Promise<void> {
  if (isSending(bucket)) refuseBeyondBudget(t, requests);
  if (t.hasControl) await t.pause(fullAgainMs, 'a full bucket');
  await inTheMiddleOfAMinute(t);
  await warmUp(t, account);
  if (bucket !== 'address') return;
  // From one address: those with a key count for the user, those with a revoked key do not
  // (AUTH-6).
  await revokedCalls(t, account);
  await flood(userTimes, () => t.get(paths.received, account.key));
}

/** True if `--max-sends` leaves this many sends. */
export function hasBudget({ target }: Trial, sends: number): boolean {
  const { client, maxSends } = target;
  return maxSends === undefined || client.sends + sends <= maxSends;
}

/** Ends a flood that the budget does not cover: a part of it would cost sends and prove nothing. */
function refuseBeyondBudget(t: Trial, sends: number): void {
  const { client } = t.target;
  if (hasBudget(t, sends)) return;
  client.budgetReached = true;
  throw new SendsExhausted(`the flood needs ${sends} sends, more than --max-sends leaves`);
}

/** A flood starts this late in a minute, so that a wait of 59 s ends in the next minute. */
const middleMs = 5_000;
/** A flood that starts later in the minute may not end in it. */
const tooLateMs = 48_000;

/**
 * Waits for the middle of a minute of the target's clock, because a bucket that refills with each
 * full minute would otherwise let twice as many pass.
 */
async function inTheMiddleOfAMinute(t: Trial): Promise<void> {
  const { clock, timeoutMs } = t.target;
  const intoMs = (clock.now() + t.ahead.most) % minuteMs;
  const untilNextMs = minuteMs + middleMs - intoMs;
  if (intoMs < middleMs) await t.pause(middleMs - intoMs, 'the next minute');
  else if (intoMs > tooLateMs && timeoutMs > untilNextMs)
    await t.pause(untilNextMs, 'the next minute');
}

/** Opens connections with unlimited requests, which must not spend from the bucket (LIMIT-7). */
async function warmUp(t: Trial, account: AccountUnderTest): Promise<void> {
  for (let round = 0; round < 2; round += 1)
    await flood(2 * atOnce, () => t.get(paths.stats, account.key));
}

/** The numbers of calls before the flood of the address, with a valid and with a revoked key. */
const userTimes = 20;
const revokedTimes = 30;

/** Calls with a revoked key, if the run has one. */
async function revokedCalls(t: Trial, account: AccountUnderTest): Promise<void> {
  let key = t.target.flags.revokedKey;
  if (t.hasControl) {
    const revoked = await t.secondKey(account);
    await t.revoke(revoked);
    key = revoked.key;
  }
  if (key !== undefined) await flood(revokedTimes, () => t.get(paths.received, key));
}

/**
 * Sends what the empty bucket must not affect. `first`: the first reply of the flood. Returns
 * whether another endpoint answered 429 (`isOtherRefused`), and the reply to a call that claims to
 * be forwarded from another address (`forwarded`).
 */
export async function requestWhileEmpty(
  t: Trial,
  account: AccountUnderTest,
  bucket: Bucket,
  first: Reply,
) {
  const isOtherRefused = await requestOthers(t, bucket, account);
  const forwarded =
    bucket === 'address'
      ? await t.get(paths.received, undefined, { 'x-forwarded-for': otherAddress })
      : undefined;
  // Neither is limited (READ-3, LIMIT-6).
  await t.get(paths.stats, account.key);
  await readMessageOf(t, account, first, readsWhileEmpty);
  return { isOtherRefused, forwarded };
}

const readsWhileEmpty = 5;
/** An address that a request claims to come from; reserved for documents (RFC 5737). */
const otherAddress = '203.0.113.9';

/**
 * Requests everything that the empty bucket must not affect: each other endpoint, and the flooded
 * one for another account or from another address. True if another endpoint answered 429.
 */
async function requestOthers(
  t: Trial,
  bucket: Bucket,
  account: AccountUnderTest,
): Promise<boolean> {
  let isThrottled = false;
  const flooded = bucket === 'address' ? undefined : bucket;
  for (const endpoint of limitedEndpoints) {
    // Without a control port, only floods of sends test pairs of endpoints of which one sends.
    const isCostly = isSending(endpoint) && !isSending(bucket) && !t.hasControl;
    if (endpoint === flooded || isCostly) continue;
    if (endpoint === 'tasks' && account.sims.length === 0) continue;
    // An endpoint that was flooded earlier is empty because of its own limit.
    if (recentRequests(t, endpoint, account).some(({ reply }) => isRefused(reply))) continue;
    const { status } = await requestTo(t, endpoint, account);
    isThrottled ||= status === 429;
  }
  if (flooded !== undefined && (t.hasControl || t.target.flags.secondApiKey !== undefined)) {
    const other = await t.otherAccount();
    if (flooded === 'tasks') await t.get(pathFor(flooded, account), other.key);
    else await requestTo(t, flooded, other);
  }
  if (bucket === 'received') await fromSecondAddress(t, { authorization: `Bearer ${account.key}` });
  if (bucket === 'address') {
    await fromSecondAddress(t, {});
    await t.get(paths.tasks(account.sims[0]?.deviceId ?? unknownId), undefined);
  }
  return isThrottled;
}

/** Enough at once that returning tokens do not explain it if all of them pass. */
const secondAddressTimes = 20;

/** Requests of the same caller from another address, if the target is on this machine. */
async function fromSecondAddress(t: Trial, headers: Readonly<Record<string, string>>) {
  if (!/^(localhost|127\.)/.test(new URL(t.target.client.baseUrl).hostname)) return;
  const localAddress = '127.0.0.2';
  const request = { method: 'GET', path: paths.received, headers, localAddress, mayRetry: false };
  await flood(secondAddressTimes, () => t.request(request));
}

export interface Wait {
  /** The `Retry-After` of the refused request. */
  readonly seconds: number;
  /** When the refused request was sent. */
  readonly askedAt: number;
  /** The second reply after the wait: shows whether more than one token has returned. */
  readonly next: Reply;
  /** True if `timesAgain` more passed at once: more than a sliding counter allows by then. */
  readonly isWhole: boolean;
}

/** The requests at once that show whether the whole bucket is full again. */
const timesAgain = 4;

/** A real clock only: the request before the end is sent this much earlier, to arrive in time. */
const leadMs = 300;
/** A real clock only: a repeated request is sent this much after the end. */
const lateMs = 100;
/** A real clock only: the last requests are sent this much after the end. */
const marginMs = 20;
/** A longer `Retry-After` is not followed. */
const longestWaitSeconds = 62;
/**
 * The part of a second, counted from the first request, at which to ask for the wait: one that is a
 * second too long or too short shows best there.
 */
const fractionMs = 600;
/** The requests until one is refused: some tokens may have returned since the flood. */
const mostTries = 6;

/** The end of a flood. */
interface EmptyBucket {
  readonly account: AccountUnderTest;
  readonly bucket: string;
  readonly refusals: readonly Reply[];
  readonly tookMs: number;
}

/**
 * Gets a refusal with a wait, and sends requests before and after the end of the wait. `call` sends
 * one more request of the flood. Undefined if there is no wait that can be followed.
 */
export async function waitOut(
  t: Trial,
  call: () => Promise<Reply>,
  { account, bucket, refusals, tookMs }: EmptyBucket,
): Promise<Wait | undefined> {
  const { clock, timeoutMs } = t.target;
  const canWait = t.hasControl || timeoutMs >= longestWaitSeconds * 1_000;
  if (refusals.length === 0 || !canWait) return undefined;
  const what = `the limit of ${bucket}`;
  const pauseUntil = (atMs: number) => t.pause(atMs - clock.now(), what);
  await t.pause((fractionMs + 2_000 - (tookMs % 1_000)) % 1_000, what);
  let askedAt = clock.now();
  let refusal = await call();
  for (let tries = 1; tries < mostTries && refusal.status !== 429; tries += 1) {
    askedAt = clock.now();
    refusal = await call();
  }
  const seconds = verify.waitIn(refusal);
  if (seconds === undefined || seconds < 1 || seconds > longestWaitSeconds) return undefined;
  let endMs = clock.now() + seconds * 1_000;
  if (seconds >= 2) {
    await pauseUntil(askedAt + (seconds - 1) * 1_000 - (t.hasControl ? 0 : leadMs));
    let newWait = verify.waitIn(await call());
    if (newWait !== undefined && newWait > 2 && !t.hasControl) {
      // Either the early request prolonged the wait (`refusedSpendsToken`), or this one passes.
      await pauseUntil(askedAt + seconds * 1_000 + lateMs);
      newWait = verify.waitIn(await call());
    }
    if (newWait !== undefined) endMs = clock.now() + Math.min(newWait, longestWaitSeconds) * 1_000;
  }
  await pauseUntil(endMs + (t.hasControl ? 0 : marginMs));
  // Judges compare the statistics with the run's own messages, to see those of another client.
  await t.get(paths.stats, account.key);
  await call();
  const next = await call();
  // Only the refill of `send` is observed, so only there are the further requests worth their cost.
  const isWhole =
    bucket === 'send' && passed(next) && (await flood(timesAgain, call)).every(passed);
  return { seconds, askedAt, next, isWhole };
}
