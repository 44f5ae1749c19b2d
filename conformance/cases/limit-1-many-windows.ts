/**
 * Limits over several minutes, with pauses between. Rules: LIMIT-1 to LIMIT-5. Every answer of
 * `limiterRefill` has a full bucket after 65 s without requests, and lets half of the limit pass
 * every 40 s.
 */

import { limits } from '../buckets.ts';
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { limitIsExact } from '../judge-flood.ts';
import { howMany, justAfterTheMinute, type Limited, limited, passed, sendsOf } from '../limited.ts';
import { type Recording, recorded } from '../recording.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const second = 1_000;

/** More than the limit, so that one too many shows. */
const surplus = 2;

/**
 * Pauses in front of each flood: long, so that tokens could pile up; beyond a minute; just over
 * one.
 */
const pausesMs = [340 * second, 90 * second, 65 * second];
const steadyPauseMs = 40 * second;
const steadyTimes = 3;

async function floodIsExact(t: Trial, one: Limited, account: Subject, when: string) {
  const replies = await flood(one.limit + surplus, () => one.call(t, account));
  verify.equal(`requests that passed ${when}`, howMany(replies), one.limit);
}

/** As many times more, where none of them was refused. */
const mostMore = 10;

/** What cases may have asked of it before. */
const fewPolls = 10;

/**
 * Empties the bucket of tasks at the start of a run, so that the flood of tasks falls into a later
 * minute.
 */
const earlyFlood: Recording<readonly Reply[]> = {
  name: 'an early flood of tasks',
  needs: ['key', 'device'],
  spends: { tasks: limits.tasks - fewPolls },
  throttled: surplus,
  seconds: 2,
  waits: 62,
  inIdleTime: true,
  record: async (t) => {
    const { key, sims } = await t.account();
    const path = paths.tasks(sims[0]?.deviceId ?? '');
    const replies = await flood(limits.tasks + surplus, () => t.get(path, key));
    // A bucket that fills bit by bit has got some more meanwhile.
    for (let i = 0; i < mostMore && replies.every(passed); i += 1)
      replies.push(...(await flood(surplus, () => t.get(path, key))));
    return replies;
  },
};

/**
 * One request at the start of a run, and a minute in which tokens could pile up before the flood.
 */
const earlyRequest: Recording<void> = {
  name: 'an early request for received',
  needs: ['key'],
  spends: { received: 1 },
  seconds: 61,
  waits: 62,
  inIdleTime: true,
  record: async (t) => {
    await t.get(paths.received, (await t.account()).key);
    await t.pause(61 * second, 'tokens that might pile up');
  },
};

const bursts = 3;
const inABurst = Math.floor(limits.received * 0.37);
const burstsApartMs = 35 * second;

/** Bursts after the flood of received messages, of which no minute holds more than two. */
const steadyBursts: Recording<readonly Reply[]> = {
  name: 'bursts of received',
  needs: ['key'],
  spends: { received: 2 * inABurst },
  seconds: 72,
  waits: 35,
  follows: floodOf.received,
  record: async (t) => {
    const { key } = await t.account();
    const replies: Reply[] = [];
    for (let i = 0; i < bursts; i += 1) {
      await t.pause(
        i === 0 ? 0 : burstsApartMs,
        'the next burst of requests for received messages',
      );
      replies.push(...(await flood(inABurst, () => t.get(paths.received, key))));
    }
    return replies;
  },
};

/** Without levers, what reads can tell, which cost nothing. */
const live: Partial<Record<Limited['name'], Pick<Case, 'live'>>> = {
  tasks: {
    live: {
      needs: ['key', 'device'],
      judges: [earlyFlood, floodOf.tasks],
      run: async (t) => {
        const early = await recorded(t, earlyFlood);
        const isEmptied = early.some(({ status }) => status === 429);
        verify.given(() => verify.that(isEmptied, 'a 429', `none in ${early.length} requests`));
        limitIsExact(t, await recorded(t, floodOf.tasks));
      },
    },
  },
  received: {
    live: {
      needs: ['key'],
      judges: [earlyRequest, floodOf.received, steadyBursts],
      run: async (t) => {
        await recorded(t, earlyRequest);
        limitIsExact(t, await recorded(t, floodOf.received));
        for (const reply of await recorded(t, steadyBursts))
          verify.that(passed(reply), `a success: ${2 * inABurst} came in the last minute`, reply);
        t.count();
      },
    },
  },
};

function manyWindows(one: Limited): Case {
  const floods = pausesMs.length;
  const sends = 1 + floods * (one.limit + surplus) + (steadyTimes * one.limit) / 2;
  return {
    ...about(`${one.rule}/many-minutes`, ['fresh', 'clock'], {
      ...sendsOf(one, sends),
      throttled: surplus * floods,
    }),
    alone: true,
    sends: `one request, floods after pauses of 340, 90 and 65 s, then ${one.limit / 2} every 40 s`,
    demands: `${one.limit} of each flood pass, and all that come every 40 s`,
    run: async (t) => {
      const account = await t.account();
      await justAfterTheMinute(t);
      const first = await one.call(t, account);
      verify.given(() => verify.that(passed(first), 'a success', first));
      for (const pauseMs of pausesMs) {
        await t.advance(pauseMs);
        await floodIsExact(t, one, account, `after a pause of ${pauseMs / second} s`);
      }
      await t.advance(pausesMs.at(-1) ?? 0);
      for (let i = 0; i < steadyTimes; i += 1) {
        for (const reply of await flood(one.limit / 2, () => one.call(t, account)))
          verify.that(passed(reply), `a success: ${one.limit / 2} came in the last 40 s`, reply);
        await t.advance(steadyPauseMs);
      }
      t.count();
    },
    ...live[one.name],
  };
}

export const limit1ManyWindowsCases: readonly Case[] = limited.map(manyWindows);
