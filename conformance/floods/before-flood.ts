/**
 * The steps before a flood: wait for a full bucket and the middle of a minute, open connections, and
 * send what must spend no token. Rules: LIMIT-7, AUTH-6.
 */
import { documentedLimits } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { type Bucket, isSending } from '../run/budget.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';
import { SendsExhausted } from '../target/client.ts';
import { flood, floodWidth, isRefused, recentRequests } from './limited-requests.ts';

/** After this time without requests, every permitted bucket is full. */
export const fullAgainMs = 2 * minuteMs + 1_000;

/**
 * Waits until a flood may start, opens connections, and sends what must spend no token. True if a
 * user was answered 429 although the limit left room.
 */
export async function prepareFlood(
  t: Trial,
  account: AccountUnderTest,
  bucket: Bucket,
  requests: number,
): Promise<boolean> {
  if (isSending(bucket)) refuseBeyondBudget(t, requests);
  if (t.hasControl) await t.pause(fullAgainMs, 'a full bucket');
  await inTheMiddleOfAMinute(t);
  await warmUp(t, account);
  return bucket === 'address' && (await callWithKeys(t, account));
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

/**
 * A flood starts at least this late in a minute of the target's clock. A bucket that is full again
 * with the next minute then lets requests pass before 55 s are over, and no other one does.
 */
const middleMs = 8_000;
/** A flood that starts later in the minute may not end in it. */
const tooLateMs = 48_000;

/**
 * Waits for the middle of a minute of the target's clock, because a bucket that refills with each
 * full minute would otherwise let twice as many pass.
 */
async function inTheMiddleOfAMinute(t: Trial): Promise<void> {
  const { least, most } = t.ahead;
  const intoMs = (t.now() + least) % minuteMs;
  const untilNextMs = minuteMs + middleMs - intoMs;
  const isTooLate = intoMs + most - least > tooLateMs;
  if (intoMs < middleMs) await t.pause(middleMs - intoMs, 'the middle of the minute');
  else if (isTooLate && t.target.timeoutMs > untilNextMs)
    await t.pause(untilNextMs, 'the middle of the next minute');
}

/**
 * Opens the connections of a flood and uses them a few times, by requests without a limit: they must
 * not spend from the bucket (LIMIT-7).
 */
async function warmUp(t: Trial, account: AccountUnderTest): Promise<void> {
  await flood(4 * floodWidth, () => t.get(paths.stats, account.key));
}

/** The number of calls with a valid key before the flood of the address. */
const userTimes = 20;
/**
 * The number of calls with a revoked key. If they spend from the user's limit, the calls with the
 * valid key exceed it.
 */
const revokedTimes = documentedLimits.received - userTimes + 5;

/**
 * Calls from one address: with a revoked key, if the run has one, and with a valid one (AUTH-6).
 * True if the valid one was answered 429 although the run had left room for it.
 */
async function callWithKeys(t: Trial, account: AccountUnderTest): Promise<boolean> {
  const spent = recentRequests(t, 'received', account).length;
  let key = t.target.flags.revokedKey;
  if (t.hasControl) {
    const revoked = await t.secondKey(account);
    await t.revoke(revoked);
    key = revoked.key;
  }
  if (key !== undefined) await flood(revokedTimes, () => t.get(paths.received, key));
  const replies = await flood(userTimes, () => t.get(paths.received, account.key));
  return spent + userTimes <= documentedLimits.received && replies.some(isRefused);
}
