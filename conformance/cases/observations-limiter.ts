/**
 * Observations of how a limiter works: how its buckets refill, and whether a refused request also
 * spends a token. An observation finds the target's answer to an assumption and judges nothing.
 */
import { documentedLimits } from '#contract/limits.ts';
import { hourMs, minuteMs, secondMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import * as verify from '#judging/service/expectations.ts';
import { refillOf, soonSeconds } from '../floods/after-flood.ts';
import { floodOf } from '../floods/floods.ts';
import { flood, passed, waitForNewMinute } from '../floods/limited-requests.ts';
import { about, type Observation } from '../run/case.ts';
import { judged } from '../run/judge-case.ts';
import { recorded } from '../run/recording.ts';
import type { AccountUnderTest, Trial } from '../run/trial.ts';

/** The time between floods that spend two parts of a bucket: a sliding window returns them apart. */
const apartMs = 10 * secondMs;

export const limiterObservations: readonly Observation[] = [
  about('limiterRefill/what-comes-back', ['sender'], 0, {
    waitSeconds: 62,
    recordings: [floodOf.send],
    sends: 'a flood of sends, and two more when its wait is over',
    run: async (t) => {
      const { wait, refusals, first, earlierAt } = await recorded(t, floodOf.send);
      if (wait === undefined)
        return { undetermined: `no wait could be followed after ${refusals.length} 429s` };
      // If no known limiter explains the flood, the nearest answer would be wrong.
      const rules = ['LIMIT-1', 'ERR-3'] as const;
      const broken = rules.map((rule) => judged(rule, t).broken).find((one) => one !== undefined);
      if (broken !== undefined) return { undetermined: `none of these: ${broken.message}` };
      const answer = refillOf(first.reply, earlierAt, wait);
      return answer === undefined
        ? { undetermined: 'several limiters explain what came back after the wait' }
        : { answer };
    },
  }),
  about('refusedSpendsToken/many-refusals', ['fresh', 'clock'], 740, {
    // Six floods of a whole bucket, each with a few sends more.
    throttled: 190,
    sends: `${documentedLimits.send} sends, a minute later as many, ${apartMs / secondMs} s later ${documentedLimits.send} more that are refused`,
    // Empties the bucket, has a send refused a minute later, and many refused `apartMs` after that.
    // If they prolong the last wait, the answer is `yes`. If not, it is `no`, unless the whole
    // bucket returns at fixed times.
    run: async (t, account) => {
      await waitForNewMinute(t);
      const spent = await countPasses(t, account, documentedLimits.send);
      verify.given(() => verify.equal('successes', spent, documentedLimits.send));
      // Refusals fill a count of this minute only if the last minute still counts.
      await t.advance(minuteMs);
      await firstRefusal(t, account);
      await t.advance(apartMs);
      const refusal = await firstRefusal(t, account);
      const firstWait = verify.given(() => verify.retryAfter(refusal));
      await flood(documentedLimits.send - 1, () => t.send(account));
      const last = await t.send(account);
      const lastWait = verify.given(() => verify.retryAfter(last));
      if (lastWait > firstWait + 1) return { answer: 'yes' };
      // A bucket that refills completely at fixed times does so whatever was refused meanwhile.
      return (await returnsAtOnce(t, account, firstWait))
        ? { undetermined: 'the whole bucket returns at once, so a refusal makes no difference' }
        : { answer: 'no' };
    },
  }),
];

/** Sends until a bucket is empty; returns the last reply. */
async function firstRefusal(t: Trial, account: AccountUnderTest): Promise<Reply> {
  let refusal = await t.send(account);
  for (let i = 0; i < documentedLimits.send && passed(refusal); i += 1)
    refusal = await t.send(account);
  return refusal;
}

/** Makes `times` sends at once; returns how many are accepted. */
async function countPasses(t: Trial, account: AccountUnderTest, times: number): Promise<number> {
  return (await flood(times, () => t.send(account))).filter(passed).length;
}

/**
 * True if all tokens return at one moment. Tests first whether any return after the wait: a sliding
 * window passes that test, too. So it then tests whether tokens that were spent apart return together.
 */
async function returnsAtOnce(
  t: Trial,
  account: AccountUnderTest,
  waitSeconds: number,
): Promise<boolean> {
  await t.advance((waitSeconds + 1) * secondMs);
  const passes = await countPasses(t, account, documentedLimits.send + 1);
  if (passes === 0 || waitSeconds <= soonSeconds) return false;
  // A sliding window also refills completely if everything was spent at one instant.
  await t.advance(hourMs);
  return halvesReturnTogether(t, await t.account());
}

/** Half of a bucket, and what returns of it during a flood, permit no more passes than this. */
const mostPassesOfHalf = (documentedLimits.send * 5) / 6;

/** Spends a bucket in two halves. True if the second half returns with the first one. */
async function halvesReturnTogether(t: Trial, account: AccountUnderTest): Promise<boolean> {
  await waitForNewMinute(t);
  await flood(documentedLimits.send / 2, () => t.send(account));
  await t.advance(apartMs);
  await flood(documentedLimits.send / 2, () => t.send(account));
  const refusal = await t.send(account);
  await t.advance(verify.given(() => verify.retryAfter(refusal)) * secondMs);
  return (await countPasses(t, account, documentedLimits.send + 1)) > mostPassesOfHalf;
}
