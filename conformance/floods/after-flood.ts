/**
 * The steps after a flood. While the bucket is empty, send all that the empty bucket must not
 * affect. Then wait as `Retry-After` says, with a request before the end of the wait, which must be
 * refused, and one after it, which must pass. Rules: LIMIT-1, LIMIT-3 to LIMIT-7, READ-3, ERR-3.
 */
import { limitedEndpoints } from '#contract/limits.ts';
import { minuteMs, secondMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { waitIn } from '#judging/service/expectations.ts';
import { type Bucket, isSending } from '../run/budget.ts';
import { type AccountUnderTest, paths, type Trial, unknownId } from '../run/trial.ts';
import {
  flood,
  isRefused,
  passed,
  pathFor,
  readMessageOf,
  recentRequests,
  requestTo,
} from './limited-requests.ts';

/**
 * Sends what the empty bucket must not affect. `first`: the first reply of the flood. Returns
 * whether another endpoint or account was answered 429 (`isOtherRefused`), and the reply to a call
 * that claims to be forwarded from another address (`forwarded`).
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
 * one for another account or from another address. True if another endpoint or account was answered
 * 429.
 */
async function requestOthers(
  t: Trial,
  bucket: Bucket,
  account: AccountUnderTest,
): Promise<boolean> {
  let isThrottled = false;
  const flooded = bucket === 'address' ? undefined : bucket;
  for (const endpoint of limitedEndpoints) {
    // Without a control port, only floods of sends test pairs of endpoints of which one sends. But
    // the polls for tasks were flooded before received messages, so one send shows what those affect.
    const isNeeded = bucket === 'received' && endpoint === 'send';
    const isCostly = isSending(endpoint) && !isSending(bucket) && !t.hasControl && !isNeeded;
    if (endpoint === flooded || isCostly) continue;
    if (endpoint === 'tasks' && account.sims.length === 0) continue;
    // An endpoint that was flooded earlier is empty because of its own limit.
    if (recentRequests(t, endpoint, account).some(({ reply }) => isRefused(reply))) continue;
    const reply = await requestTo(t, endpoint, account);
    isThrottled ||= isRefused(reply);
  }
  if (flooded !== undefined && (t.hasControl || t.target.flags.secondApiKey !== undefined)) {
    const other = await t.otherAccount();
    const reply =
      flooded === 'tasks'
        ? await t.get(pathFor(flooded, account), other.key)
        : await requestTo(t, flooded, other);
    isThrottled ||= isRefused(reply);
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
  /**
   * True if `timesAgain` more passed at once: more than returns by then of what was spent first.
   * Undefined if a reply is missing that decides it.
   */
  readonly isWhole: boolean | undefined;
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
  const canWait = t.hasControl || t.target.timeoutMs >= longestWaitSeconds * secondMs;
  if (refusals.length === 0 || !canWait) return undefined;
  const what = `the limit of ${bucket}`;
  await t.pause((fractionMs + 2 * secondMs - (tookMs % secondMs)) % secondMs, what);
  const { askedAt, seconds } = await askForWait(t, call);
  if (seconds === undefined || seconds < 1 || seconds > longestWaitSeconds) return undefined;
  // The early request may prolong the wait (`refusedSpendsToken`), so that one bucket gets none.
  const endMs =
    seconds < 2 || bucket === 'address'
      ? t.now() + seconds * secondMs
      : await askBeforeEnd(t, call, { what, askedAt, seconds });
  await t.pause(endMs + (t.hasControl ? 0 : marginMs) - t.now(), what);
  // Judges compare the statistics with the run's own messages, to see those of another client.
  await t.get(paths.stats, account.key);
  await call();
  const next = await call();
  // Only the refill of `send` is observed, so only there are the further requests worth their cost.
  const again = bucket === 'send' && passed(next) ? await flood(timesAgain, call) : [];
  return { seconds, askedAt, isWhole: isWholeBucket([next, ...again]) };
}

function isWholeBucket(replies: readonly Reply[]): boolean | undefined {
  if (replies.some(isRefused)) return false;
  return replies.length > timesAgain && replies.every(passed) ? true : undefined;
}

/** Calls until one is refused: when that one was sent, and the wait that its reply states. */
async function askForWait(t: Trial, call: () => Promise<Reply>) {
  for (let tries = 1; ; tries += 1) {
    const askedAt = t.now();
    const reply = await call();
    if (isRefused(reply) || tries === mostTries) return { askedAt, seconds: waitIn(reply) };
  }
}

/** Calls once more shortly before the wait ends. Returns the end that its reply states. */
async function askBeforeEnd(
  t: Trial,
  call: () => Promise<Reply>,
  { what, askedAt, seconds }: { what: string; askedAt: number; seconds: number },
): Promise<number> {
  const statedEndMs = t.now() + seconds * secondMs;
  const earlyMs = askedAt + (seconds - 1) * secondMs - (t.hasControl ? 0 : leadMs);
  await t.pause(earlyMs - t.now(), what);
  let newWait = waitIn(await call());
  if (newWait !== undefined && newWait > 2 && !t.hasControl) {
    // Either the early request prolonged the wait (`refusedSpendsToken`), or this one passes.
    await t.pause(askedAt + seconds * secondMs + lateMs - t.now(), what);
    newWait = waitIn(await call());
  }
  if (newWait === undefined) return statedEndMs;
  return t.now() + Math.min(newWait, longestWaitSeconds) * secondMs;
}

/** A token that returns within this time shows a continuous refill. */
export const soonSeconds = 2;
/** A wait, in whole seconds, may differ by this much from the time until its token returns. */
const longerBySeconds = 1.5;
const shorterBySeconds = 2;

/** Requests this little before a flood count as its first one. */
const withFirstMs = 1_000;

/**
 * The answer to `limiterRefill` that the wait after a flood shows. The first request of the flood
 * came well before the others, so its token returns first. If the wait is longer than that, refused
 * requests prolong it (`refusedSpendsToken`), which happens only in a sliding window. If it is
 * shorter, the bucket looks at the minutes of a clock: with the first request 20 s ago at second 30
 * of a minute, a sliding window asks to wait 40 s, an aligned one 10 s, and a counter a little more
 * than 10 s. `earlierAt`: when the run spent from the bucket within the minute before the flood. A
 * few at its very start return together with the first token, as a whole bucket would in part.
 * Undefined if several answers explain the wait.
 */
export function refillOf(first: Reply, earlierAt: readonly number[], wait: Wait) {
  if (wait.seconds <= soonSeconds) return 'continuous';
  const isKnown = earlierAt.every((at) => at > first.sentAt - withFirstMs);
  if (wait.isWhole === undefined || !isKnown || earlierAt.length > timesAgain) return undefined;
  const firstTokenSeconds = (first.sentAt + minuteMs - wait.askedAt) / secondMs;
  if (wait.seconds > firstTokenSeconds + longerBySeconds) return 'sliding';
  if (wait.seconds < firstTokenSeconds - shorterBySeconds)
    return wait.isWhole ? 'interval_aligned' : 'sliding_counter';
  return wait.isWhole ? 'interval' : 'sliding';
}
