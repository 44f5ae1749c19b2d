/**
 * What a 429 says, and by whom limits are keyed. Rules: ERR-3, ERR-4, AUTH-6, SVC-4.
 * A refused request may itself count (`refusedSpendsToken`), so the wait after each refusal is the one it named.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { justAfterTheMinute, type Limited, limited, passed } from './limit-1-per-minute.ts';

/** Spends a bucket in two portions, a fraction of a second past a whole one apart, and returns the first 429. */
async function spentInTwo(t: Trial, one: Limited, account: Subject, apartMs: number) {
  if (t.controlled) await justAfterTheMinute(t);
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
  // On a clock that runs by itself, some of the second has passed already.
  const slack = t.controlled ? 0 : 300;
  await t.advance(Math.max(0, (first - 1) * 1000 - slack));
  const early = await one.call(t, account);
  verify.that(
    early.status === 429,
    `429 one second before Retry-After (${first} s) is over`,
    early,
  );
  const second = verify.retryAfter(early);
  verify.that(second >= 1 && second <= 61, 'between 1 and 61 seconds', `Retry-After: ${second}`);
  await t.advance(second * 1000 + (t.controlled ? 0 : 50));
  const after = await one.call(t, account);
  verify.that(passed(after), `a success when Retry-After (${second} s) is over`, after);
  t.count();
}

/** Straight from a refusal to the end of its wait, without another request in between. */
async function sufficient(t: Trial, one: Limited, apartMs: number): Promise<void> {
  const account = await t.account();
  const wait = verify.retryAfter(await spentInTwo(t, one, account, apartMs));
  await t.advance(wait * 1000 + (t.controlled ? 0 : 50));
  const after = await one.call(t, account);
  verify.that(passed(after), `a success when Retry-After (${wait} s) is over`, after);
  t.count();
}

/** Some 429s of one endpoint, at different waits. */
async function refusals(t: Trial, one: Limited): Promise<Reply[]> {
  const account = await t.account();
  const alive = await t.get(paths.stats, account.key);
  verify.given(() => verify.status(alive, 200));
  if (!t.controlled) {
    const replies = await flood(one.limit + 5, () => one.call(t, account));
    return replies.filter((reply) => reply.status === 429);
  }
  const found = [await spentInTwo(t, one, account, 10_400)];
  for (const pause of [0, 3_250, 7_500]) {
    await t.advance(pause);
    const reply = await one.call(t, account);
    if (reply.status === 429) found.push(reply);
  }
  return found;
}

/** The numbers in a text for people. */
function numbersIn(text: string): number[] {
  return (text.match(/\d+(?:\.\d+)?/g) ?? []).map(Number);
}

function perEndpoint(one: Limited): readonly Case[] {
  const needs =
    one.name === 'tasks'
      ? (['key', 'device'] as const)
      : ([one.isSend ? 'sender' : 'key'] as const);
  const plan = {
    needs,
    alone: true,
    cost: { sends: one.isSend ? 3 * one.limit : 0, throttled: 4, waits: 60 },
  };
  const suffix = one.name.replace('_', '-');
  const [send] = limited;
  const tight: Case = {
    ...plan,
    rule: 'ERR-3',
    name: `sufficient-and-tight-${suffix}`,
    sends: `requests to ${one.name} until 429; one after a second less than Retry-After, one after all of it`,
    demands: 'Retry-After in whole seconds; the first is 429, the second passes',
    run: (t) => sufficientAndTight(t, one, 10_400),
  };
  const body: Case = {
    ...plan,
    rule: 'ERR-4',
    name: `detail-${suffix}`,
    cost: { ...plan.cost, waits: 0 },
    sends: `requests to ${one.name} until 429`,
    demands: 'a JSON object with a text `detail` that states the seconds of Retry-After',
    run: async (t) => {
      const found = await refusals(t, one);
      for (const reply of found) {
        const wait = verify.retryAfter(reply);
        verify.declaredJson(reply);
        const { detail } = verify.object(reply);
        verify.that(
          typeof detail === 'string' && /[a-z]/i.test(detail) && numbersIn(detail).includes(wait),
          `a detail that states ${wait} seconds`,
          reply,
        );
        t.count();
      }
    },
  };
  if (one !== send) return [tight, body];
  const wait: Case = {
    ...plan,
    rule: 'ERR-3',
    name: 'sufficient-at-once',
    sends: 'requests until 429, then one after Retry-After seconds',
    demands: 'it passes',
    run: (t) => sufficient(t, one, 5_750),
  };
  const even: Case = {
    ...plan,
    rule: 'ERR-3',
    name: 'whole-seconds-apart',
    sends: 'requests a whole number of seconds apart until 429; then as above',
    demands: 'the wait is not one second too long either',
    run: (t) => sufficientAndTight(t, one, 7_000),
  };
  return [tight, wait, even, body];
}

/** How many of 121 requests for received messages pass for one key from one address. */
async function capacity(t: Trial): Promise<number> {
  const { key } = await t.account();
  const replies = await flood(121, () => t.get(paths.received, key));
  const count = replies.filter(passed).length;
  verify.given(() => verify.that(count > 0 && count < 121, 'successes and a 429', String(count)));
  return count;
}

/** Calls without a key, from an address of the caller's choice. */
function unauthenticated(t: Trial, localAddress?: string): Promise<Reply> {
  return t.request({
    method: 'GET',
    path: paths.received,
    ...(localAddress === undefined ? {} : { localAddress }),
  });
}

const keyed: readonly Case[] = [
  {
    rule: 'AUTH-6',
    name: 'users-do-not-share',
    needs: ['key', 'second-account'],
    alone: true,
    cost: { throttled: 1 },
    sends:
      '121 requests for received messages by one account, then one by another, from one address',
    demands: '429 for the one, 200 for the other',
    run: async (t) => {
      const account = await t.account();
      const other = await t.otherAccount();
      const replies = await flood(121, () => t.get(paths.received, account.key));
      const throttled = replies.some((reply) => reply.status === 429);
      verify.given(() => verify.that(throttled, 'a 429', 'none'));
      verify.status(await t.get(paths.received, other.key), 200);
      t.count();
    },
  },
  {
    rule: 'AUTH-6',
    name: 'keys-of-a-user-share',
    needs: ['fresh'],
    cost: { throttled: 1 },
    sends: '121 requests for received messages with two keys of one account in turn',
    demands: 'as many pass as with one key',
    run: async (t) => {
      const account = await t.account();
      const { key } = await t.secondKey(account);
      const replies = await flood(121, (i) => t.get(paths.received, i % 2 ? key : account.key));
      verify.equal('requests that passed', replies.filter(passed).length, await capacity(t));
      t.count();
    },
  },
  {
    rule: 'AUTH-6',
    name: 'addresses-of-a-user-share',
    needs: ['fresh'],
    cost: { throttled: 1 },
    sends: '121 requests for received messages by one account, from two addresses',
    demands: 'as many pass as from one: authenticated calls are keyed by user',
    run: async (t) => {
      const { key } = await t.account();
      const authorization = `Bearer ${key}`;
      const from = (localAddress: string) =>
        t.request({
          method: 'GET',
          path: paths.received,
          headers: { authorization },
          localAddress,
        });
      const second = await from('127.0.0.2');
      if (second.status === 0) t.lack('a target that is reached from a second local address');
      verify.given(() => verify.status(second, 200));
      const replies = await flood(120, () => t.get(paths.received, key));
      const count = 1 + replies.filter(passed).length;
      verify.equal('requests that passed', count, await capacity(t));
      t.count();
    },
  },
  {
    rule: 'AUTH-6',
    name: 'unauthenticated-by-address',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { throttled: 2 },
    sends: '122 requests without a key; then one with a key, and one without from another address',
    demands: '401 for at least 120 of them; the key is not throttled, nor is the other address',
    run: async (t) => {
      const account = await t.account();
      await t.advance(121_000);
      try {
        const replies = await flood(122, () => unauthenticated(t));
        for (const reply of replies) verify.status(reply, 401, 429);
        const refused = replies.filter((reply) => reply.status === 429);
        // None at all where a refused call spends nothing (`errorsSpendToken`, `unauthenticatedThrottle`).
        verify.that(
          refused.length === 2 || refused.length === 0,
          '120 times 401 before the first 429, or 401 always',
          `${122 - refused.length} times 401`,
        );
        verify.status(await t.get(paths.received, account.key), 200);
        const elsewhere = await unauthenticated(t, '127.0.0.2');
        if (elsewhere.status !== 0) verify.status(elsewhere, 401);
        t.count();
      } finally {
        // The address's bucket is everybody's: leave it full.
        await t.advance(121_000);
      }
    },
  },
  {
    rule: 'AUTH-6',
    name: 'users-do-not-spend-the-address',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { throttled: 1 },
    sends: '121 requests with a key, then one without from the same address',
    demands: '429 for the user, 401 for the address',
    run: async (t) => {
      const account = await t.account();
      await t.advance(121_000);
      const replies = await flood(121, () => t.get(paths.received, account.key));
      const count = replies.filter(passed).length;
      verify.given(() => verify.equal('requests that passed', count, 120));
      verify.status(await unauthenticated(t), 401);
      t.count();
    },
  },
  {
    rule: 'SVC-4',
    name: 'throttled-is-json',
    needs: ['fresh'],
    cost: { throttled: 1 },
    sends: 'requests for received messages until 429',
    demands: 'a JSON body, declared as such',
    run: async (t) => {
      const account = await t.account();
      const replies = await flood(121, () => t.get(paths.received, account.key));
      verify.given(() => verify.that(replies.some(passed), 'successes', 'none'));
      for (const reply of replies) {
        if (reply.status !== 429) continue;
        verify.declaredJson(reply);
        t.count();
      }
    },
  },
];

export const err3RetryAfterCases: readonly Case[] = [...limited.flatMap(perEndpoint), ...keyed];
