/**
 * What comes before a flood: waits for a full bucket and the middle of a minute, opens connections,
 * and sends what must spend no token.
 */
import { minuteMs } from '#contract/time.ts';
import type { Bucket } from '../run/budget.ts';
import { paths, type Subject, type Trial } from '../run/case-run.ts';
import { SendsExhausted } from '../target/client.ts';
import { flood, isSending } from './limited.ts';

/** By then every permitted bucket is full. */
export const fullAgainMs = 2 * minuteMs + 1_000;
/** Connections that a flood uses at the same time. */
const atOnce = 16;

/**
 * Waits until a flood of so many requests may start, opens connections, and sends what must spend
 * no token.
 */
export async function prepareFlood(
  t: Trial,
  account: Subject,
  bucket: Bucket,
  requests: number,
): Promise<void> {
  if (isSending(bucket)) refuseBeyondBudget(t, requests);
  if (t.controlled) await t.pause(fullAgainMs, 'a full bucket');
  await inTheMiddleOfAMinute(t);
  await warmUp(t, account);
  if (bucket !== 'address') return;
  // All come from this address, but a user's requests have a limit of their own, and a revoked key
  // does not count for its user (AUTH-6).
  await revokedCalls(t, account);
  await flood(userTimes, () => t.get(paths.received, account.key));
}

/** True if `--max-sends` leaves so many sends. */
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

/** So late in the minute that a request before the end of a wait of 59 s is in the next one. */
const middleMs = 5_000;
/** A flood that starts later in the minute may not end in it. */
const tooLateMs = 48_000;

/**
 * Waits for the middle of a minute, because a bucket that refills with each full minute would
 * otherwise let twice as many pass.
 */
async function inTheMiddleOfAMinute(t: Trial): Promise<void> {
  const { clock, timeoutMs } = t.target;
  const intoMs = clock.now() % minuteMs;
  const untilNextMs = minuteMs + middleMs - intoMs;
  if (intoMs < middleMs) await t.pause(middleMs - intoMs, 'the next minute');
  else if (intoMs > tooLateMs && timeoutMs > untilNextMs)
    await t.pause(untilNextMs, 'the next minute');
}

/**
 * Opens connections with requests that are not limited, which must not spend from the bucket
 * (LIMIT-7).
 */
async function warmUp(t: Trial, account: Subject): Promise<void> {
  for (let round = 0; round < 2; round += 1)
    await flood(2 * atOnce, () => t.get(paths.stats, account.key));
}

const userTimes = 20;
const revokedTimes = 30;

/** Calls with a revoked key. */
async function revokedCalls(t: Trial, account: Subject): Promise<void> {
  let key = t.target.flags.revokedKey;
  if (t.controlled) {
    const revoked = await t.secondKey(account);
    await t.revoke(revoked);
    key = revoked.key;
  }
  if (key !== undefined) await flood(revokedTimes, () => t.get(paths.received, key));
}
