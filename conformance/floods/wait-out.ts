/**
 * Waits out the `Retry-After` of a flood: sends one request a second before the wait is over, which
 * must be refused, and one after it, which must pass. Rule: ERR-3.
 */

import type { Reply } from '#judging/evidence/reply.ts';
import * as verify from '#judging/service/expectations.ts';
import { paths, type Subject, type Trial } from '../run/case-run.ts';

export interface Wait {
  /** The `Retry-After` of the refused request. */
  readonly seconds: number;
  /** When the refused request was sent. */
  readonly askedAt: number;
  /**
   * The second reply after the wait: shows whether the whole bucket is full again, or one token has
   * returned (`limiterRefill`).
   */
  readonly next: Reply;
}

/** A real clock only: the request before the end is sent this much earlier, to arrive in time. */
const leadMs = 300;
/** A real clock only: a repeated request is sent this much after the end. */
const lateMs = 100;
/** A real clock only: the last requests are sent this much after the end. */
const marginMs = 20;
const longestWaitSeconds = 62;
/**
 * Fraction of a second after the first request at which a wait that is a second too long or short
 * shows best.
 */
const fractionMs = 600;
const mostTries = 6;

/** The end of a flood. */
interface EmptyBucket {
  readonly account: Subject;
  /** The name of the bucket. */
  readonly bucket: string;
  readonly refusals: readonly Reply[];
  readonly tookMs: number;
}

/** `call`: sends one more request of the flood. Undefined if there is no wait that fits. */
export async function waitOut(
  t: Trial,
  call: () => Promise<Reply>,
  { account, bucket, refusals, tookMs }: EmptyBucket,
): Promise<Wait | undefined> {
  const { clock, timeoutMs } = t.target;
  const canWait = t.controlled || timeoutMs >= longestWaitSeconds * 1_000;
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
    await pauseUntil(askedAt + (seconds - 1) * 1_000 - (t.controlled ? 0 : leadMs));
    let newWait = verify.waitIn(await call());
    if (newWait !== undefined && newWait > 2 && !t.controlled) {
      // Either the early request prolonged the wait (`refusedSpendsToken`), or this one passes.
      await pauseUntil(askedAt + seconds * 1_000 + lateMs);
      newWait = verify.waitIn(await call());
    }
    if (newWait !== undefined) endMs = clock.now() + Math.min(newWait, longestWaitSeconds) * 1_000;
  }
  await pauseUntil(endMs + (t.controlled ? 0 : marginMs));
  // Judges compare the statistics with the run's own messages, to see those of another client.
  await t.get(paths.stats, account.key);
  await call();
  return { seconds, askedAt, next: await call() };
}
