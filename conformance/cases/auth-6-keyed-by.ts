/** Whose bucket a request spends. Rule: AUTH-6. */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { type Flood, floodOf } from '../floods.ts';
import { isLeftAlone, limitIsExact, refusalsOf } from '../judge-flood.ts';
import { type Limited, limited, needsOf, passed, withFullBuckets } from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { poolNumber } from './svc-1-sims-and-pool.ts';

function howMany(replies: readonly Reply[]): number {
  return replies.filter(passed).length;
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

/** Calls without a key, after some of a user from the same address. */
function strangersAreCounted(t: Trial, flood: Flood): void {
  if (flood.refusals.length > 0) {
    limitIsExact(t, flood);
    return;
  }
  // None at all where a refused call spends nothing (`errorsSpendToken`,
  // `unauthenticatedThrottle`).
  for (const reply of flood.replies) verify.status(reply, 401);
  t.count();
}

function addressesShare(t: Trial, flood: Flood): void {
  const [refusal] = refusalsOf(t, flood);
  const second = flood.beside.find(({ name }) => name === 'second address');
  if (second === undefined) t.lack('a target that is reached from a second local address');
  if (Number(refusal?.headers['retry-after'] ?? 0) <= 2)
    t.lack('a bucket that does not come back meanwhile');
  verify.status(second.reply, 429);
  t.count();
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
      live: {
        needs: [...needsOf(one), 'other-key'],
        judges: [floodOf[one.name]],
        run: async (t) => limitIsExact(t, await recorded(t, floodOf[one.name])),
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
      live: {
        needs: [...needsOf(one), 'second-account'],
        judges: [floodOf[one.name]],
        run: async (t) => isLeftAlone(t, await recorded(t, floodOf[one.name]), 'other account'),
      },
    },
  ];
}

export const auth6KeyedByCases: readonly Case[] = [
  ...limited.filter(({ name }) => name !== 'send' && name !== 'received').flatMap(perEndpoint),
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
    live: {
      needs: ['key', 'second-account'],
      judges: [floodOf.received],
      run: async (t) => isLeftAlone(t, await recorded(t, floodOf.received), 'other account'),
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
    live: {
      needs: ['key', 'other-key'],
      judges: [floodOf.received],
      run: async (t) => limitIsExact(t, await recorded(t, floodOf.received)),
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
    live: {
      needs: ['key'],
      judges: [floodOf.received],
      run: async (t) => addressesShare(t, await recorded(t, floodOf.received)),
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
      await withFullBuckets(t, async () => {
        const replies = await flood(122, () => unauthenticated(t));
        for (const reply of replies) verify.status(reply, 401, 429);
        const refused = replies.filter((reply) => reply.status === 429);
        // None at all where a refused call spends nothing (`errorsSpendToken`,
        // `unauthenticatedThrottle`).
        verify.that(
          refused.length === 2 || refused.length === 0,
          '120 times 401 before the first 429, or 401 always',
          `${122 - refused.length} times 401`,
        );
        verify.status(await t.get(paths.received, account.key), 200);
        const elsewhere = await unauthenticated(t, '127.0.0.2');
        if (elsewhere.status === 429 && !t.target.isOwn)
          t.lack('a target that sees the second local address, which a proxy hides');
        if (elsewhere.status !== 0) verify.status(elsewhere, 401);
        t.count();
      });
    },
    live: {
      needs: ['key'],
      judges: [floodOf.address],
      run: async (t) => {
        const flood = await recorded(t, floodOf.address);
        if (flood.refusals.length > 0) isLeftAlone(t, flood, 'received');
        strangersAreCounted(t, flood);
      },
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
    live: {
      needs: ['key'],
      judges: [floodOf.address],
      run: async (t) => strangersAreCounted(t, await recorded(t, floodOf.address)),
    },
  },
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
      await t.control.must('accounts.revokeKey', { id: revoked.keyId });
      await withFullBuckets(t, async () => {
        for (const reply of await flood(30, () => t.get(paths.received, revoked.key)))
          verify.status(reply, 401);
        const replies = await flood(121, () => t.get(paths.received, account.key));
        verify.equal('requests that passed', howMany(replies), 120);
        t.count();
      });
    },
    live: {
      needs: ['key', 'revoked-key'],
      judges: [floodOf.address, floodOf.received],
      run: async (t) => {
        const { beside } = await recorded(t, floodOf.address);
        for (const { name, reply } of beside) if (name === 'revoked') verify.status(reply, 401);
        limitIsExact(t, await recorded(t, floodOf.received));
      },
    },
  },
];
