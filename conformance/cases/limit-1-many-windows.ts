/**
 * Limits over several minutes, with pauses. Rules: LIMIT-1 to LIMIT-5. Under every answer of
 * `limiterRefill`, the bucket is full after 65 s without requests, and half of the limit passes
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

/** Requests beyond the limit, so that a limit that is one too high shows. */
const surplus = 2;

/**
 * The pause before each flood: long enough for tokens to accumulate; more than a minute; just over
 * a minute.
 */
const pausesMs = [340 * second, 90 * second, 65 * second];
const steadyPauseMs = 40 * second;
const steadyTimes = 3;

async function floodIsExact(t: Trial, one: Limited, account: Subject, when: string) {
  const replies = await flood(one.limit + surplus, () => one.call(t, account));
  verify.equal(`requests that passed ${when}`, howMany(replies), one.limit);
}

/** Further tries with more requests while nothing was refused. */
const mostMore = 10;

/** Requests that other cases may have sent to it before. */
const fewPolls = 10;

/**
 * Empties the bucket of tasks at the start of a run, so that the main flood of tasks happens in a
 * later minute.
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
    // A bucket with a continuous refill has some tokens again.
    for (let i = 0; i < mostMore && replies.every(passed); i += 1)
      replies.push(...(await flood(surplus, () => t.get(path, key))));
    return replies;
  },
};

/**
 * Sends one request at the start of a run, then leaves a minute for tokens to accumulate before the
 * flood.
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
    await t.pause(61 * second, 'tokens to accumulate');
  },
};

const bursts = 3;
const inABurst = Math.floor(limits.received * 0.37);
const burstsApartMs = 35 * second;

/** Sends bursts after the flood of received messages; no minute holds more than two bursts. */
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

/** The variants without a control port: only reads, which cost nothing. */
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
