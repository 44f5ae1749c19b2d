/**
 * Observations of how a limiter works: how its buckets refill, and whether a refused request spends
 * a token too. An observation finds an answer of an assumption and judges nothing.
 */

import { documentedLimits } from '#contract/limits.ts';
import { hourMs, minuteMs, secondMs } from '#contract/time.ts';
import * as verify from '#judging/service/expectations.ts';
import { type Flood, floodOf } from '../floods/floods.ts';
import { flood, justAfterTheMinute, passed } from '../floods/limited.ts';
import { about, type Observation, type Seen } from '../run/case.ts';
import type { AccountUnderTest, Trial } from '../run/case-run.ts';
import { judged } from '../run/judge-case.ts';
import { recorded } from '../run/recording.ts';

/** Between the floods that spend two parts of a bucket, which a sliding window returns apart. */
const apartMs = 10 * secondMs;

export const limiterObservations: readonly Observation[] = [
  about('limiterRefill/what-comes-back', ['sender'], 0, {
    waits: 62,
    recordings: [floodOf.send],
    sends: 'a flood of sends, and two more when its wait is over',
    run: async (t) => {
      const seen = refillOf(await recorded(t, floodOf.send));
      // The nearest answer would be wrong if none of the known limiters explains the flood.
      const rules = ['LIMIT-1', 'ERR-3'] as const;
      const broken = rules.map((rule) => judged(rule, t).broken).find((one) => one !== undefined);
      if (broken === undefined || !('answer' in seen)) return seen;
      return { undetermined: `none of these: ${broken.message}` };
    },
  }),
  about('refusedSpendsToken/many-refusals', ['fresh', 'clock'], 620, {
    // Five floods of a whole bucket, each with a few sends more.
    throttled: 190,
    sends: '120 sends, 10 s later 120 more that are refused',
    run: async (t, account) => {
      await justAfterTheMinute(t);
      const spent = await countPasses(t, account, documentedLimits.send);
      verify.given(() => verify.equal('successes', spent, documentedLimits.send));
      await t.advance(apartMs);
      let refusal = await t.send(account);
      for (let i = 0; i < documentedLimits.send && passed(refusal); i += 1)
        refusal = await t.send(account);
      const firstWait = verify.given(() => verify.retryAfter(refusal));
      await flood(documentedLimits.send - 1, () => t.send(account));
      const last = await t.send(account);
      const lastWait = verify.given(() => verify.retryAfter(last));
      if (lastWait > firstWait + 1) return { answer: 'yes' };
      // A bucket that refills completely at fixed times does so whatever was refused meanwhile.
      return (await returnsAtOnce(t, account, firstWait))
        ? { undetermined: 'all of the bucket comes back at once, so a refusal makes no difference' }
        : { answer: 'no' };
    },
  }),
];

/** A token that returns so soon shows a continuous refill. */
const soonSeconds = 2;
/** A wait may differ so much from the time until its token returns: it is in whole seconds. */
const mostLongerSeconds = 1.5;
const mostShorterSeconds = 2;

/**
 * The refill that the wait after a flood shows. The first request of the flood came well before the
 * others. A longer wait than for its token means that refused requests count
 * (`refusedSpendsToken`), which only a sliding window lets prolong a wait.
 */
function refillOf({ wait, refusals, first }: Flood): Seen {
  if (wait === undefined)
    return { undetermined: `no wait could be followed after ${refusals.length} 429s` };
  if (wait.seconds <= soonSeconds) return { answer: 'continuous' };
  const firstTokenSeconds = (first.reply.sentAt + minuteMs - wait.askedAt) / secondMs;
  if (wait.seconds > firstTokenSeconds + mostLongerSeconds) return { answer: 'sliding' };
  if (wait.seconds < firstTokenSeconds - mostShorterSeconds)
    return { answer: wait.isWhole ? 'interval_aligned' : 'sliding_counter' };
  return { answer: passed(wait.next) ? 'interval' : 'sliding' };
}

/** How many of so many simultaneous sends are accepted. */
async function countPasses(t: Trial, account: AccountUnderTest, times: number): Promise<number> {
  return (await flood(times, () => t.send(account))).filter(passed).length;
}

/** More passes than a half of the bucket, even if some of its tokens return meanwhile. */
const nearlyAll = 100;

/** True if all tokens return at one moment, even though they were spent at two moments. */
async function returnsAtOnce(
  t: Trial,
  account: AccountUnderTest,
  waitSeconds: number,
): Promise<boolean> {
  await t.advance((waitSeconds + 1) * secondMs);
  if (
    (await countPasses(t, account, documentedLimits.send + 1)) === 0 ||
    waitSeconds <= soonSeconds
  )
    return false;
  await t.advance(hourMs);
  // A sliding window also refills completely if everything was spent at one instant.
  const other = await t.account();
  await justAfterTheMinute(t);
  await flood(documentedLimits.send / 2, () => t.send(other));
  await t.advance(apartMs);
  await flood(documentedLimits.send / 2, () => t.send(other));
  const refusal = await t.send(other);
  await t.advance(verify.given(() => verify.retryAfter(refusal)) * secondMs);
  return (await countPasses(t, other, documentedLimits.send + 1)) > nearlyAll;
}
