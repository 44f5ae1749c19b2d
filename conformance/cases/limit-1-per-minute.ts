/**
 * How many requests pass in a minute. Rules: LIMIT-1 to LIMIT-5.
 * All four answers of `limiterRefill` pass: what is counted is a bucket found full, at one instant,
 * and what is back 59 s and 60 s later, at a time of the minute where even whole-minute windows
 * tell.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { isLeftAlone, limitIsExact, returnsAfterAMinute } from '../judge-flood.ts';
import { justAfterTheMinute, type Limited, limited, needsOf, passed } from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { onlyTheAccepted } from './err-1-quota.ts';

/** Empties a full bucket with one request more than it holds, and says how many passed. */
async function spendAll(t: Trial, one: Limited, account: Subject): Promise<Reply[]> {
  const replies = await flood(one.limit + 1, () => one.call(t, account));
  for (const reply of replies)
    verify.that(passed(reply) || reply.status === 429, 'a success or 429', reply);
  return replies;
}

function howMany(replies: readonly Reply[]): number {
  return replies.filter(passed).length;
}

function exactly(one: Limited): Case {
  return {
    rule: one.rule,
    name: `${one.limit}-pass`,
    needs: needsOf(one),
    alone: true,
    cost: { sends: one.isSend ? one.limit + 1 : 0, throttled: 1 },
    sends: `${one.limit + 1} requests within a minute`,
    demands: `${one.limit} pass, one is 429`,
    run: async (t) => {
      const account = await t.account();
      verify.equal('requests that passed', howMany(await spendAll(t, one, account)), one.limit);
      t.count();
    },
    live: {
      needs: needsOf(one),
      judges: [floodOf[one.name]],
      run: async (t) => limitIsExact(t, await recorded(t, floodOf[one.name])),
    },
  };
}

function window(one: Limited): Case {
  return {
    rule: one.rule,
    name: 'a-minute',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: one.isSend ? 4 * one.limit + 2 : 0, throttled: one.limit },
    sends: `${one.limit} requests at once, and as many again 59 s and 60 s later`,
    demands: `after 59 s at most ${(one.limit / 60) * 59} pass, after 60 s all of them`,
    run: async (t) => {
      const early = await t.account();
      const punctual = await t.account();
      await justAfterTheMinute(t);
      for (const account of [early, punctual]) {
        const replies = await flood(one.limit, () => one.call(t, account));
        verify.equal('requests that passed at first', howMany(replies), one.limit);
      }
      await t.advance(59_000);
      const before = howMany(await flood(one.limit, () => one.call(t, early)));
      const most = (one.limit / 60) * 59;
      verify.that(before <= most, `at most ${most} passes after 59 s`, String(before));
      await t.advance(1_000);
      const after = howMany(await spendAll(t, one, punctual));
      verify.equal('requests that passed after 60 s', after, one.limit);
      t.count();
    },
    live: {
      needs: needsOf(one),
      cost: { waits: 62 },
      judges: [floodOf[one.name]],
      run: async (t) => returnsAfterAMinute(t, await recorded(t, floodOf[one.name])),
    },
  };
}

const perAccount: readonly Case[] = [
  {
    rule: 'LIMIT-1',
    name: 'whatever-sims-and-keys',
    needs: ['fresh'],
    cost: { sends: 121, throttled: 1 },
    sends: '121 sends by one account, from two SIMs and with two keys in turn',
    demands: '120 pass, one is 429',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      const second = await t.secondKey(account);
      const replies = await flood(121, (i) =>
        t.post(
          paths.send,
          i % 2 === 0 ? account.key : second.key,
          t.fields(account, { from: account.sims[Math.floor(i / 2) % 2]?.number }),
        ),
      );
      verify.equal('requests that passed', howMany(replies), 120);
      t.count();
    },
    live: {
      needs: ['sender', 'other-key'],
      judges: [floodOf.send],
      run: async (t) => limitIsExact(t, await recorded(t, floodOf.send)),
    },
  },
  {
    rule: 'LIMIT-1',
    name: 'one-account-leaves-the-other',
    needs: ['fresh'],
    cost: { sends: 242, throttled: 2 },
    sends: '121 sends by one account, then 121 by another, from the same address',
    demands: '120 of each pass',
    run: async (t) => {
      for (const account of [await t.account(), await t.account()]) {
        const replies = await flood(121, () => t.send(account));
        verify.equal('requests that passed', howMany(replies), 120);
      }
      t.count();
    },
    live: {
      needs: ['sender', 'second-account'],
      judges: [floodOf.send],
      run: async (t) => isLeftAlone(t, await recorded(t, floodOf.send), 'other account'),
    },
  },
  {
    rule: 'LIMIT-5',
    name: 'whatever-devices',
    needs: ['fresh'],
    cost: { throttled: 1 },
    sends: '61 requests for the tasks of two devices of one account in turn',
    demands: '60 pass, one is 429: limits are keyed by user (AUTH-6)',
    run: async (t) => {
      const { key, sims } = await t.account({ sims: 2 });
      const replies = await flood(61, (i) => t.get(paths.tasks(sims[i % 2]?.deviceId ?? ''), key));
      verify.equal('requests that passed', howMany(replies), 60);
      t.count();
    },
  },
];

const refused: Case = {
  rule: 'LIMIT-1',
  name: 'throttled-is-not-queued',
  needs: ['fresh'],
  cost: { sends: 130, throttled: 10 },
  sends: '130 sends, then the list of messages',
  demands: 'as many messages as were answered 202',
  run: async (t) => {
    const account = await t.account();
    const replies = await flood(130, () => t.send(account));
    const throttled = replies.some(({ status }) => status === 429);
    verify.given(() => verify.that(throttled, 'a 429', 'none in 130 sends'));
    await onlyTheAccepted(t, account, replies);
  },
};

export const limit1PerMinuteCases: readonly Case[] = [
  ...limited.map(exactly),
  ...limited.map(window),
  ...perAccount,
  refused,
];
