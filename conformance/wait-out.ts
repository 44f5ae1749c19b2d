/**
 * After a flood, in real time: one second less than `Retry-After` is too early, and all of it is
 * enough. Rule: ERR-3. A verdict is only drawn where the delay of the network cannot explain what
 * is seen.
 */
import type { Reply } from './client.ts';
import type { Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Wait {
  readonly refusal: Reply;
  readonly seconds: number;
  /**
   * A second before it is over; undefined where that is no wait at all, or where it arrived too
   * late to tell.
   */
  readonly early: Reply | undefined;
  /** When that was answered, on the run's clock. */
  readonly earlyAt: number;
  /** What the last refusal said, and the reply when that is over. */
  readonly lastSeconds: number;
  readonly after: Reply;
  /** When that was sent, on the run's clock. */
  readonly at: number;
  /** Straight after that: all of the bucket is back, or one request of it (`limiterRefill`). */
  readonly next: Reply;
}

/** Sent so much earlier that it arrives in time. */
const leadMs = 300;
const longestWaitSeconds = 62;
/**
 * Into a second since the first request: a wait that is a second too long or too short shows best
 * there.
 */
const fractionMs = 600;

export async function waitOut(
  t: Trial,
  call: () => Promise<Reply>,
  flood: {
    readonly bucket: string;
    readonly refusals: readonly Reply[];
    readonly tookMs: number;
  },
): Promise<Wait | undefined> {
  const { clock, timeoutMs } = t.target;
  const what = `the limit of ${flood.bucket}`;
  if (flood.refusals.length === 0 || timeoutMs < longestWaitSeconds * 1000) return undefined;
  await t.pause((fractionMs + 2_000 - (flood.tookMs % 1_000)) % 1_000, what);
  let sentAt = clock.now();
  let refusal = await call();
  for (let i = 0; i < 5 && refusal.status !== 429; i += 1) {
    sentAt = clock.now();
    refusal = await call();
  }
  const answeredAt = clock.now();
  const seconds = secondsOf(refusal);
  if (seconds === undefined || seconds < 1 || seconds > longestWaitSeconds) return undefined;
  let early: Reply | undefined;
  let earlyAt = answeredAt;
  let from = answeredAt;
  let lastSeconds = seconds;
  if (seconds >= 2) {
    const tooEarlyUntil = sentAt + (seconds - 1) * 1_000;
    await t.pause(tooEarlyUntil - leadMs - clock.now(), what);
    early = await call();
    earlyAt = clock.now();
    const isLate = earlyAt > tooEarlyUntil;
    const again = secondsOf(early);
    if (again !== undefined) {
      from = clock.now();
      lastSeconds = Math.min(again, longestWaitSeconds);
    }
    // It arrived when the wait was over, and has spent what came back: that it passed is all there
    // is to see.
    if (isLate && early.status !== 429)
      return {
        refusal,
        seconds,
        early: undefined,
        earlyAt,
        lastSeconds,
        after: early,
        at: clock.now(),
        next: await call(),
      };
  }
  await t.pause(from + lastSeconds * 1_000 - clock.now() + 20, what);
  const at = clock.now();
  const after = await call();
  return { refusal, seconds, early, earlyAt, lastSeconds, after, at, next: await call() };
}

function secondsOf(reply: Reply): number | undefined {
  try {
    return verify.retryAfter(reply);
  } catch {
    return undefined;
  }
}
