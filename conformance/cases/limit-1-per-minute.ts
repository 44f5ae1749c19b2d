/**
 * How many requests pass in a minute. Rules: LIMIT-1 to LIMIT-5.
 * All four answers of `limiterRefill` pass: the cases empty a full bucket at one instant and count
 * what is back 59 s and 60 s later. The instant is chosen so that fixed one-minute windows also
 * show.
 */
import { limits } from '../buckets.ts';
import { about, type Case } from '../case.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import {
  byFlood,
  leavesAlone,
  limitIsExact,
  refusalsOf,
  returnsAfterAMinute,
} from '../judge-flood.ts';
import {
  agentOf,
  allButOnePass,
  emptied,
  howMany,
  justAfterTheMinute,
  type Limited,
  limited,
  queriesOf,
  sendsOf,
} from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { onlyTheAccepted } from './err-1-quota.ts';

function exactly(one: Limited): Case {
  return {
    ...about(`${one.rule}/${one.limit}-pass`, floodOf[one.name].needs, {
      ...sendsOf(one, one.limit + 1),
      throttled: 1,
    }),
    alone: true,
    sends: `${one.limit + 1} requests within a minute, from two user agents and with other queries`,
    demands: `${one.limit} pass, one is 429`,
    run: async (t) => {
      const account = await t.account();
      const queryOf = await queriesOf(t, one, await t.account());
      await allButOnePass(t, one.limit, (i) =>
        one.call(t, account, account.key, { headers: agentOf(i), query: queryOf(i) }),
      );
    },
    live: byFlood(one.name, limitIsExact),
  };
}

function window(one: Limited): Case {
  return {
    ...about(`${one.rule}/a-minute`, ['fresh', 'clock'], {
      ...sendsOf(one, 4 * one.limit + 2),
      throttled: one.limit,
    }),
    alone: true,
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
      await allButOnePass(t, one.limit, () => one.call(t, punctual));
    },
    live: byFlood(one.name, returnsAfterAMinute, { waits: 62 }),
  };
}

const perAccount: readonly Case[] = [
  {
    ...about('LIMIT-1/whatever-sims-and-keys', ['fresh'], { sends: 121, throttled: 1 }),
    sends: '121 sends by one account, from two SIMs and with two keys in turn',
    demands: '120 pass, one is 429',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      const second = await t.secondKey(account);
      const keys = [account.key, second.key];
      await allButOnePass(t, limits.send, (i) => {
        const from = account.sims[Math.floor(i / 2) % 2]?.number;
        return t.send({ ...account, key: keys[i % 2] ?? '' }, { from });
      });
    },
    live: byFlood('send', limitIsExact, { needs: ['other-key'] }),
  },
  {
    ...about('LIMIT-1/one-account-leaves-the-other', ['fresh'], { sends: 242, throttled: 2 }),
    sends: '121 sends by one account, then 121 by another, from the same address',
    demands: '120 of each pass',
    run: async (t) => {
      for (const account of [await t.account(), await t.account()])
        await allButOnePass(t, limits.send, () => t.send(account));
    },
    live: byFlood('send', leavesAlone('other account'), { needs: ['second-account'] }),
  },
  {
    ...about('LIMIT-5/whatever-devices', ['fresh'], { throttled: 1 }),
    sends: '61 requests for the tasks of two devices of one account in turn',
    demands: '60 pass, one is 429: limits are keyed by user (AUTH-6)',
    run: async (t) => {
      const { key, sims } = await t.account({ sims: 2 });
      const path = (i: number) => paths.tasks(sims[i % 2]?.deviceId ?? '');
      await allButOnePass(t, limits.tasks, (i) => t.get(path(i), key));
    },
  },
];

const refused: Case = {
  ...about('LIMIT-1/throttled-is-not-queued', ['fresh'], { sends: 130, throttled: 10 }),
  sends: '130 sends, then the list of messages',
  demands: 'as many messages as were answered 202',
  run: async (t) => {
    const account = await t.account();
    await onlyTheAccepted(t, account, await emptied(limits.send + 9, () => t.send(account)));
  },
  live: {
    ...byFlood('send', () => {}),
    cost: { sends: 1 },
    run: async (t) => {
      const flood = await recorded(t, floodOf.send);
      refusalsOf(t, flood);
      const tasks = flood.otherReplies.find(({ name }) => name === 'tasks')?.reply;
      for (const { message } of flood.refused)
        if (tasks !== undefined)
          verify.that(!tasks.text.includes(String(message)), 'no task for a refused send', tasks);
      const again = await t.send(await t.account(), flood.refused[0]);
      verify.that(again.status !== 200, 'no replay of a send that was answered 429', again);
      t.count();
    },
  },
};

export const limit1PerMinuteCases: readonly Case[] = [
  ...limited.map(exactly),
  ...limited.map(window),
  ...perAccount,
  refused,
];
