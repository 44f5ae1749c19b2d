/** Which bucket a request spends from: the user's or the address's. Rule: AUTH-6. */
import { limits } from '../buckets.ts';
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { type Flood, floodOf } from '../floods.ts';
import { byFlood, leavesAlone, limitIsExact, refusalsOf } from '../judge-flood.ts';
import {
  allButOnePass,
  caseName,
  emptied,
  type Limited,
  limited,
  passed,
  sendsOf,
  withFullBuckets,
} from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { poolNumber } from './svc-1-sims-and-pool.ts';

/** Calls without a key, from the given address. */
function unauthenticated(t: Trial, localAddress?: string): Promise<Reply> {
  return t.request({
    method: 'GET',
    path: paths.received,
    ...(localAddress === undefined ? {} : { localAddress }),
  });
}

/** Judges calls without a key that follow calls of a user from the same address. */
function strangersAreCounted(t: Trial, flood: Flood): void {
  if (flood.refusals.length > 0) {
    limitIsExact(t, flood);
    return;
  }
  // No 429 is expected if a refused call spends nothing (`errorsSpendToken`,
  // `unauthenticatedThrottle`).
  for (const reply of flood.replies) verify.status(reply, 401);
  t.count();
}

function addressesShare(t: Trial, flood: Flood): void {
  const [refusal] = refusalsOf(t, flood);
  const second = flood.otherReplies.find(({ name }) => name === 'second address');
  if (second === undefined) t.lack('a target that is reached from a second local address');
  if (Number(refusal?.headers['retry-after'] ?? 0) <= 2)
    t.lack('a bucket that does not refill meanwhile');
  verify.status(second.reply, 429);
  t.count();
}

function perEndpoint(one: Limited): readonly Case[] {
  const suffix = one.name === 'received' ? '' : `-${caseName(one)}`;
  const most = one.limit + 1;
  return [
    {
      ...about(`AUTH-6/keys-of-a-user-share${suffix}`, ['fresh'], {
        ...sendsOf(one, most),
        throttled: 1,
      }),
      sends: `${most} requests to ${one.name} with two keys of one account in turn`,
      demands: `${one.limit} pass, one is 429`,
      run: async (t) => {
        const account = await t.account();
        const { key } = await t.secondKey(account);
        await allButOnePass(t, one.limit, (i) => one.call(t, account, i % 2 ? key : account.key));
      },
      live: byFlood(one.name, limitIsExact, { needs: ['other-key'] }),
    },
    {
      ...about(`AUTH-6/users-do-not-share${suffix}`, ['fresh'], {
        ...sendsOf(one, most + 1),
        throttled: 1,
      }),
      sends: `${most} requests to ${one.name} by one account, then one by another, from one address`,
      demands: '429 for the first account, a success for the second',
      run: async (t) => {
        const [account, other] = [await t.account(), await t.account()];
        await emptied(one.limit, () => one.call(t, account));
        const reply = await one.call(t, other);
        verify.that(passed(reply), 'a success for the other account', reply);
        t.count();
      },
      live: byFlood(one.name, leavesAlone('other account'), { needs: ['second-account'] }),
    },
  ];
}

export const auth6KeyedByCases: readonly Case[] = [
  ...limited.filter(({ name }) => name !== 'send').flatMap(perEndpoint),
  {
    ...about('AUTH-6/addresses-of-a-user-share', ['fresh'], { throttled: 1 }),
    sends: '121 requests for received messages by one account, from two addresses',
    demands: 'as many pass as from one: authenticated calls are keyed by user',
    run: async (t) => {
      const { key } = await t.account();
      const second = await t.request({
        method: 'GET',
        path: paths.received,
        headers: { authorization: `Bearer ${key}` },
        localAddress: '127.0.0.2',
      });
      if (second.status === 0) t.lack('a target that is reached from a second local address');
      verify.given(() => verify.status(second, 200));
      await allButOnePass(t, limits.received, async (i) =>
        i === 0 ? second : t.get(paths.received, key),
      );
    },
    live: byFlood('received', addressesShare),
  },
  {
    ...about('AUTH-6/unauthenticated-by-address', ['fresh', 'clock'], { throttled: 2 }),
    alone: true,
    sends: '122 requests without a key; then one with a key, and one without from another address',
    demands: '401 for at least 120 of them; the key is not throttled, nor is the other address',
    run: async (t) => {
      const account = await t.account();
      await withFullBuckets(t, async () => {
        const replies = await flood(122, () => unauthenticated(t));
        for (const reply of replies) verify.status(reply, 401, 429);
        const refused = replies.filter((reply) => reply.status === 429);
        // No 429 is expected if a refused call spends nothing (`errorsSpendToken`,
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
    live: byFlood('address', (t, flood) => {
      if (flood.refusals.length > 0) leavesAlone('received')(t, flood);
      strangersAreCounted(t, flood);
    }),
  },
  {
    ...about('AUTH-6/users-do-not-spend-the-address', ['fresh', 'clock'], { throttled: 1 }),
    alone: true,
    sends: '121 requests with a key, then one without from the same address',
    demands: '429 for the user, 401 for the address',
    run: async (t) => {
      const account = await t.account();
      await t.advance(121_000);
      await emptied(limits.received, () => t.get(paths.received, account.key));
      verify.status(await unauthenticated(t), 401);
      t.count();
    },
    live: byFlood('address', strangersAreCounted),
  },
  {
    ...about('AUTH-6/users-of-the-pool-do-not-share', ['pool'], { sends: 122, throttled: 1 }),
    sends: '121 sends from the pool number by one account without a SIM, then one by another',
    demands: '429 for the first account, 202 for the second',
    run: async (t) => {
      const from = await poolNumber(t);
      const account = await t.account({ sims: 0 });
      const other = await t.account({ sims: 0 });
      await emptied(limits.send, () => t.send(account, { from }));
      verify.accepted(await t.send(other, { from }));
      t.count();
    },
  },
  {
    ...about('AUTH-6/revoked-key-does-not-spend-the-user', ['fresh', 'clock'], { throttled: 1 }),
    alone: true,
    sends: '30 requests with a revoked key, then 121 with the good key of the same account',
    demands: '401 for the 30, which are not authenticated; 120 of the others pass',
    run: async (t) => {
      const account = await t.account();
      const revoked = await t.secondKey(account);
      await t.control.must('accounts.revokeKey', { id: revoked.keyId });
      await withFullBuckets(t, async () => {
        for (const reply of await flood(30, () => t.get(paths.received, revoked.key)))
          verify.status(reply, 401);
        await allButOnePass(t, limits.received, () => t.get(paths.received, account.key));
      });
    },
    live: {
      needs: ['key', 'revoked-key'],
      judges: [floodOf.address, floodOf.received],
      run: async (t) => {
        const { otherReplies } = await recorded(t, floodOf.address);
        for (const { name, reply } of otherReplies)
          if (name === 'revoked') verify.status(reply, 401);
        limitIsExact(t, await recorded(t, floodOf.received));
      },
    },
  },
];
