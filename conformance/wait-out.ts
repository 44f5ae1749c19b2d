/**
 * After a flood, in real time: one second less than `Retry-After` must be too early, and the full
 * time enough. Rule: ERR-3. Judges only if network delay cannot explain the result.
 */
import type { Reply } from './client.ts';
import type { Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Wait {
  readonly refusal: Reply;
  readonly seconds: number;
  /**
   * The reply one second before the wait is over; undefined if there was no wait, or if the request
   * arrived too late.
   */
  readonly early: Reply | undefined;
  /** When it was answered, in the run's clock. */
  readonly earlyAt: number;
  /** The wait of the last refusal, and the reply after it. */
  readonly lastSeconds: number;
  readonly after: Reply;
  /** When that request was sent, in the run's clock. */
  readonly at: number;
  /**
   * The reply directly after that: shows whether the whole bucket is back or one token
   * (`limiterRefill`).
   */
  readonly next: Reply;
}

/** Sent this much earlier, so that it arrives in time. */
const leadMs = 300;
const longestWaitSeconds = 62;
/**
 * Fraction of a second after the first request at which a wait that is a second too long or short
 * shows best.
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
    // The early request arrived after the wait and spent the returned token; only its success can
    // be judged.
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
