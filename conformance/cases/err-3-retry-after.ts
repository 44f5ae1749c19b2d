/**
 * `Retry-After` seconds are enough, and one second less is not. Rule: ERR-3.
 * A refused request may count as a request (`refusedSpendsToken`), so the wait after each refusal
 * is the one that it states.
 */
import { about, type Case } from '../case.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { byFlood, ifStrangersAreThrottled, waitIsRight } from '../judge-flood.ts';
import {
  caseName,
  justAfterTheMinute,
  type Limited,
  limited,
  passed,
  sendsOf,
  throttledWithoutKey,
} from '../limited.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/**
 * Spends a bucket in two halves, a fraction over a whole number of seconds apart, and returns the
 * first 429.
 */
export async function spentInTwo(t: Trial, one: Limited, account: Subject, apartMs: number) {
  await justAfterTheMinute(t);
  const half = one.limit / 2;
  const first = await flood(half, () => one.call(t, account));
  verify.given(() => verify.equal('successes', first.filter(passed).length, half));
  await t.advance(apartMs);
  // A continuous refill returns tokens meanwhile, so more than half of the limit may pass.
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

/** Waits exactly as long as one refusal states, without another request in between. */
async function sufficient(t: Trial, one: Limited, apartMs: number): Promise<void> {
  const account = await t.account();
  const wait = verify.retryAfter(await spentInTwo(t, one, account, apartMs));
  await t.advance(wait * 1000);
  const after = await one.call(t, account);
  verify.that(passed(after), `a success when Retry-After (${wait} s) is over`, after);
  t.count();
}

function tight(one: Limited): Case {
  return {
    ...about(`ERR-3/sufficient-and-tight-${caseName(one)}`, floodOf[one.name].needs, {
      ...sendsOf(one, 3 * one.limit),
      throttled: 4,
    }),
    alone: true,
    sends: `requests to ${one.name} until 429; one a second before Retry-After is over, one after it`,
    demands: 'Retry-After in whole seconds; the first is 429, the second passes',
    run: (t) => sufficientAndTight(t, one, 10_400),
    live: byFlood(one.name, waitIsRight, { waits: 62 }),
  };
}

const [send] = limited;

const apart: readonly Case[] = [
  {
    ...about('ERR-3/sufficient-at-once', ['fresh', 'clock'], {
      sends: 3 * send.limit,
      throttled: 1,
    }),
    alone: true,
    sends: 'requests until 429, then one after Retry-After seconds',
    demands: 'it passes',
    run: (t) => sufficient(t, send, 5_750),
  },
  {
    ...about('ERR-3/whole-seconds-apart', ['fresh', 'clock'], {
      sends: 3 * send.limit,
      throttled: 4,
    }),
    alone: true,
    sends:
      'requests a whole number of seconds apart until 429; then one before and one after the wait',
    demands: 'the wait is not one second too long either',
    run: (t) => sufficientAndTight(t, send, 7_000),
  },
];

const withoutKey: Case = {
  ...about('ERR-3/sufficient-without-a-key', ['fresh', 'clock'], { throttled: 2 }),
  alone: true,
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
  live: byFlood('address', ifStrangersAreThrottled(waitIsRight), { waits: 62 }),
};

export const err3RetryAfterCases: readonly Case[] = [...limited.map(tight), ...apart, withoutKey];
