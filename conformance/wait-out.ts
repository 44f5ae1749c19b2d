/**
 * After a flood: one request a second before `Retry-After` is over, and one after it. Rule: ERR-3.
 */
import type { Reply } from './client.ts';
import { paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Wait {
  readonly seconds: number;
  /** When the request left that was told to wait so long. */
  readonly askedAt: number;
  /**
   * The reply directly after the first that passed: shows whether the whole bucket is back or one
   * token (`limiterRefill`).
   */
  readonly next: Reply;
}

/** Sent this much earlier, so that it arrives in time. */
const leadMs = 300;
const lateMs = 100;
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
    readonly account: Subject;
    readonly bucket: string;
    readonly refusals: readonly Reply[];
    readonly tookMs: number;
  },
): Promise<Wait | undefined> {
  const { clock, timeoutMs } = t.target;
  const { account } = flood;
  const what = `the limit of ${flood.bucket}`;
  const canWait = t.controlled || timeoutMs >= longestWaitSeconds * 1000;
  if (flood.refusals.length === 0 || !canWait) return undefined;
  await t.pause((fractionMs + 2_000 - (flood.tookMs % 1_000)) % 1_000, what);
  let sentAt = clock.now();
  let refusal = await call();
  for (let i = 0; i < 5 && refusal.status !== 429; i += 1) {
    sentAt = clock.now();
    refusal = await call();
  }
  const seconds = verify.waitIn(refusal);
  if (seconds === undefined || seconds < 1 || seconds > longestWaitSeconds) return undefined;
  const askedAt = sentAt;
  let from = clock.now();
  let wait = seconds;
  if (seconds >= 2) {
    const lead = t.controlled ? 0 : leadMs;
    await t.pause(sentAt + (seconds - 1) * 1_000 - lead - clock.now(), what);
    let again = verify.waitIn(await call());
    if (again !== undefined && again > 2 && !t.controlled) {
      // Either the early request prolonged the wait (`refusedSpendsToken`), or this one passes.
      await t.pause(sentAt + seconds * 1_000 + lateMs - clock.now(), what);
      again = verify.waitIn(await call());
    }
    if (again !== undefined) {
      from = clock.now();
      wait = Math.min(again, longestWaitSeconds);
    }
  }
  await t.pause(from + wait * 1_000 - clock.now() + (t.controlled ? 0 : 20), what);
  // What the statistics count beyond the run's own messages is another client's.
  await t.get(paths.stats, account.key);
  await call();
  return { seconds, askedAt, next: await call() };
}
