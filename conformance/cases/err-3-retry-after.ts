/**
 * `Retry-After` is enough, and one second less is not. Rule: ERR-3.
 * A refused request may itself count (`refusedSpendsToken`), so the wait after each refusal is the
 * one it named.
 */
import type { Case } from '../case.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { refusalsOf, waitIsRight } from '../judge-flood.ts';
import {
  justAfterTheMinute,
  type Limited,
  lackThrottledStrangers,
  limited,
  needsOf,
  passed,
  throttledWithoutKey,
} from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/**
 * Spends a bucket in two portions, a fraction of a second past a whole one apart, and returns the
 * first 429.
 */
export async function spentInTwo(t: Trial, one: Limited, account: Subject, apartMs: number) {
  await justAfterTheMinute(t);
  const half = one.limit / 2;
  const first = await flood(half, () => one.call(t, account));
  verify.given(() => verify.equal('successes', first.filter(passed).length, half));
  await t.advance(apartMs);
  // A refill by the second returns tokens meanwhile, so more than a half may pass.
  for (let i = 0; i < 2 * one.limit; i += 1) {
    const reply = await one.call(t, account);
    if (reply.status === 429) return reply;
    verify.given(() => verify.that(passed(reply), 'a success or 429', reply));
  }
  return verify.given(() => verify.fail('a 429', `none in ${2 * one.limit} requests`));
}

/** The wait is enough, and one second less is not. */
async function sufficientAndTight(t: Trial, one: Limited, apartMs: number): Promise<void> {
  const account = await t.account();
  const first = verify.retryAfter(await spentInTwo(t, one, account, apartMs));
  verify.that(first >= 1 && first <= 60, 'between 1 and 60 seconds', `Retry-After: ${first}`);
  await t.advance((first - 1) * 1000);
  const early = await one.call(t, account);
  verify.that(
    early.status === 429,
    `429 one second before Retry-After (${first} s) is over`,
    early,
  );
  const second = verify.retryAfter(early);
  verify.that(second >= 1 && second <= 61, 'between 1 and 61 seconds', `Retry-After: ${second}`);
  await t.advance(second * 1000);
  const after = await one.call(t, account);
  verify.that(passed(after), `a success when Retry-After (${second} s) is over`, after);
  t.count();
}

/** Straight from a refusal to the end of its wait, without another request in between. */
async function sufficient(t: Trial, one: Limited, apartMs: number): Promise<void> {
  const account = await t.account();
  const wait = verify.retryAfter(await spentInTwo(t, one, account, apartMs));
  await t.advance(wait * 1000);
  const after = await one.call(t, account);
  verify.that(passed(after), `a success when Retry-After (${wait} s) is over`, after);
  t.count();
}

/** The wait is judged on what follows a flood: without levers the bucket is shared by all cases. */
function live(one: Limited): NonNullable<Case['live']> {
  const flood = floodOf[one.name];
  return {
    needs: needsOf(one),
    cost: { waits: 62 },
    judges: [flood],
    run: async (t) => waitIsRight(t, await recorded(t, flood)),
  };
}

function tight(one: Limited): Case {
  return {
    rule: 'ERR-3',
    name: `sufficient-and-tight-${one.name.replace('_', '-')}`,
    needs: needsOf(one),
    alone: true,
    cost: { sends: one.isSend ? 3 * one.limit : 0, throttled: 4 },
    sends: `requests to ${one.name} until 429; one after a second less than Retry-After, one after all of it`,
    demands: 'Retry-After in whole seconds; the first is 429, the second passes',
    run: (t) => sufficientAndTight(t, one, 10_400),
    live: live(one),
  };
}

const [send] = limited;

const apart: readonly Case[] = [
  {
    rule: 'ERR-3',
    name: 'sufficient-at-once',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: 3 * send.limit, throttled: 1 },
    sends: 'requests until 429, then one after Retry-After seconds',
    demands: 'it passes',
    run: (t) => sufficient(t, send, 5_750),
  },
  {
    rule: 'ERR-3',
    name: 'whole-seconds-apart',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: 3 * send.limit, throttled: 4 },
    sends: 'requests a whole number of seconds apart until 429; then as above',
    demands: 'the wait is not one second too long either',
    run: (t) => sufficientAndTight(t, send, 7_000),
  },
];

const withoutKey: Case = {
  rule: 'ERR-3',
  name: 'sufficient-without-a-key',
  needs: ['fresh', 'clock'],
  alone: true,
  cost: { throttled: 2 },
  sends: '122 requests without a key, then one after Retry-After seconds',
  demands: 'Retry-After in whole seconds, at most 60; then 401',
  run: (t) =>
    throttledWithoutKey(t, async (refusals) => {
      const waits = refusals.map(verify.retryAfter);
      const longest = Math.max(...waits);
      verify.that(longest <= 60, 'at most 60 seconds', `Retry-After: ${longest}`);
      await t.advance(longest * 1000);
      verify.status(await t.get(paths.received, undefined), 401);
    }),
  live: {
    needs: ['key'],
    cost: { waits: 62 },
    judges: [floodOf.address],
    run: async (t) => {
      const flood = await recorded(t, floodOf.address);
      if (flood.refusals.length === 0) lackThrottledStrangers(t);
      refusalsOf(t, flood);
      waitIsRight(t, flood);
    },
  },
};

export const err3RetryAfterCases: readonly Case[] = [...limited.map(tight), ...apart, withoutKey];
