/**
 * Whose bucket a request spends, endpoint by endpoint; what a 429 to a stranger says.
 * Rules: AUTH-6, LIMIT-7, ERR-3, ERR-4.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { type Limited, limited, passed } from './limit-1-per-minute.ts';
import { poolNumber } from './svc-1-sims-and-pool.ts';

const bothBucketsFullMs = 121_000;

function howMany(replies: readonly Reply[]): number {
  return replies.filter(passed).length;
}

function perEndpoint(one: Limited): readonly Case[] {
  const suffix = one.name.replace('_', '-');
  const most = one.limit + 1;
  const sends = one.isSend ? most : 0;
  return [
    {
      rule: 'AUTH-6',
      name: `keys-of-a-user-share-${suffix}`,
      needs: ['fresh'],
      cost: { sends, throttled: 1 },
      sends: `${most} requests to ${one.name} with two keys of one account in turn`,
      demands: `${one.limit} pass, one is 429`,
      run: async (t) => {
        const account = await t.account();
        const { key } = await t.secondKey(account);
        const replies = await flood(most, (i) => one.call(t, account, i % 2 ? key : account.key));
        verify.equal('requests that passed', howMany(replies), one.limit);
        t.count();
      },
    },
    {
      rule: 'AUTH-6',
      name: `users-do-not-share-${suffix}`,
      needs: ['fresh'],
      cost: { sends: sends + 1, throttled: 1 },
      sends: `${most} requests to ${one.name} by one account, then one by another, from one address`,
      demands: '429 for the one, a success for the other',
      run: async (t) => {
        const account = await t.account();
        const other = await t.account();
        const replies = await flood(most, () => one.call(t, account));
        const throttled = replies.some(({ status }) => status === 429);
        verify.given(() => verify.that(throttled, 'a 429', 'none'));
        const reply = await one.call(t, other);
        verify.that(passed(reply), 'a success for the other account', reply);
        t.count();
      },
    },
  ];
}

/** 429s to calls without a key; afterwards the address's bucket, which is everybody's, is full again. */
async function strangers(t: Trial, check: (refusals: readonly Reply[]) => Promise<void>) {
  const call = () => t.request({ method: 'GET', path: paths.received });
  await t.advance(bothBucketsFullMs);
  try {
    const replies = await flood(122, call);
    const refusals = replies.filter(({ status }) => status === 429);
    if (refusals.length === 0)
      t.lack(
        'a target that throttles calls without a key (unauthenticatedThrottle, errorsSpendToken)',
      );
    await check(refusals);
    t.count();
  } finally {
    await t.advance(bothBucketsFullMs);
  }
}

const stranger = {
  needs: ['fresh', 'clock'],
  alone: true,
  cost: { throttled: 2 },
  sends: '122 requests without a key',
} as const;

export const auth6KeyedByCases: readonly Case[] = [
  ...limited.filter(({ name }) => name !== 'send' && name !== 'received').flatMap(perEndpoint),
  {
    rule: 'AUTH-6',
    name: 'users-of-the-pool-do-not-share',
    needs: ['pool'],
    cost: { sends: 122, throttled: 1 },
    sends: '121 sends from the pool number by one account without a SIM, then one by another',
    demands: '429 for the one, 202 for the other',
    run: async (t) => {
      const from = await poolNumber(t);
      const account = await t.account({ sims: 0 });
      const other = await t.account({ sims: 0 });
      const replies = await flood(121, () => t.send(account, { from }));
      verify.given(() => verify.equal('requests that passed', howMany(replies), 120));
      verify.accepted(await t.send(other, { from }));
      t.count();
    },
  },
  {
    rule: 'AUTH-6',
    name: 'revoked-key-does-not-spend-the-user',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { throttled: 1 },
    sends: '30 requests with a revoked key, then 121 with the good key of the same account',
    demands: '401 for the 30, which are not authenticated; 120 of the others pass',
    run: async (t) => {
      const account = await t.account();
      const revoked = await t.secondKey(account);
      await t.control.must('DELETE', `/control/keys/${revoked.keyId}`);
      await t.advance(bothBucketsFullMs);
      try {
        for (const reply of await flood(30, () => t.get(paths.received, revoked.key)))
          verify.status(reply, 401);
        const replies = await flood(121, () => t.get(paths.received, account.key));
        verify.equal('requests that passed', howMany(replies), 120);
        t.count();
      } finally {
        await t.advance(bothBucketsFullMs);
      }
    },
  },
  {
    rule: 'LIMIT-7',
    name: 'reads-and-statistics-spend-nothing',
    needs: ['fresh'],
    cost: { sends: 121, throttled: 1 },
    sends: 'a message, 40 reads of it, 40 requests for statistics, then 120 sends',
    demands: '120 of the 121 sends pass',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      for (const reply of await flood(40, () => t.read(account, messageId)))
        verify.given(() => verify.status(reply, 200));
      for (const reply of await flood(40, () => t.get(paths.stats, account.key)))
        verify.given(() => verify.status(reply, 200));
      const replies = await flood(120, () => t.send(account));
      verify.equal('sends that passed', 1 + howMany(replies), 120);
      t.count();
    },
  },
  {
    ...stranger,
    rule: 'ERR-3',
    name: 'sufficient-without-a-key',
    sends: `${stranger.sends}, then one after Retry-After seconds`,
    demands: 'Retry-After in whole seconds, at most 60; then 401',
    run: (t) =>
      strangers(t, async (refusals) => {
        const waits = refusals.map(verify.retryAfter);
        const longest = Math.max(...waits);
        verify.that(longest <= 60, 'at most 60 seconds', `Retry-After: ${longest}`);
        await t.advance(longest * 1000);
        verify.status(await t.get(paths.received, undefined), 401);
      }),
  },
  {
    ...stranger,
    rule: 'ERR-4',
    name: 'detail-without-a-key',
    demands: 'a JSON object with a text `detail` that states the seconds of Retry-After',
    run: (t) =>
      strangers(t, async (refusals) => {
        for (const reply of refusals) {
          const wait = verify.retryAfter(reply);
          const { detail } = verify.object(reply);
          const states = new RegExp(`(?<!\\d)${wait}(?!\\d)`);
          verify.that(
            typeof detail === 'string' && states.test(detail),
            `a detail that states ${wait} seconds`,
            reply,
          );
        }
      }),
  },
];
