/** When a message is picked up, and how fast its status changes. Rules: SVC-2, SVC-3, STATE-2. */
import { about, type Case } from '../case.ts';
import {
  describeLife,
  pickedUpInTime,
  pollIntervalMs,
  queuedToWatch,
  recordedLives,
  watch,
} from '../recorded-lives.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { life, statusOf, watched } from './state-2-life.ts';

/**
 * When a message was first seen in another status than queued; undefined if it was not within the
 * time.
 */
async function leavesQueued(
  t: Trial,
  one: { key: string; recipient: string; messageId: string },
  withinMs: number,
): Promise<number | undefined> {
  const step = Math.max(1, Math.floor(pollIntervalMs(t) / 8));
  for (let passed = 0; passed < withinMs; ) {
    const pause = Math.min(step, withinMs - passed);
    await t.advance(pause);
    passed += pause;
    if ((await statusOf(t, one.key, one.messageId)) !== 'queued') return passed;
  }
  return undefined;
}

export const svc3PickupCases: readonly Case[] = [
  {
    ...life,
    rule: 'SVC-3',
    name: 'picked-up-within-a-poll',
    cost: { sends: 2 },
    sends: 'a message; when it is picked up, another one from the same SIM',
    demands: 'both are picked up within about 20 s',
    run: async (t) => {
      const account = await t.account();
      // "About": a quarter more. A simulator whose polls were set to be rarer is measured by what
      // it is set to.
      const longest = Math.max(20_000, pollIntervalMs(t)) * 1.25;
      for (let i = 0; i < 2; i += 1) {
        const { messageId } = await t.queued(account);
        const one = { key: account.key, recipient: t.recipient, messageId };
        const left = await leavesQueued(t, one, longest);
        verify.that(left !== undefined, `pickup within ${longest / 1000} s`, 'still queued then');
        t.count();
      }
    },
    live: {
      ...watched,
      run: async (t) => {
        for (const of of await recordedLives(t)) pickedUpInTime(t, of);
      },
    },
  },
  {
    ...life,
    rule: 'SVC-3',
    name: 'no-faster-than-polls',
    demands: 'at least about 20 s between two changes of a status',
    run: async (t) => {
      if (t.assumption('progressPace') === 'own_delay')
        t.lack('a target whose devices report at their polls (progressPace)');
      const shortest = Math.min(20_000, pollIntervalMs(t)) * 0.75;
      for (const of of await recordedLives(t)) {
        for (const [i, { at }] of of.sightings.entries()) {
          if (i < 2) continue;
          const gap = at - (of.sightings[i - 1]?.at ?? 0);
          verify.that(
            gap >= shortest,
            `${shortest / 1000} s between two changes`,
            describeLife(of),
          );
          t.count();
        }
      }
    },
    live: {
      ...watched,
      // Whatever the pace of progress (`progressPace`), it does not follow the reads.
      run: async (t) => {
        for (const of of await recordedLives(t)) {
          const gaps = of.sightings.slice(1).map(({ at }, i) => at - (of.sightings[i]?.at ?? 0));
          const followsReads = gaps.length === 3 && gaps.every((gap) => gap < 400);
          verify.that(
            !followsReads,
            'a status that does not change with each read',
            describeLife(of),
          );
          if (gaps.length > 0) t.count();
        }
        if (t.exercised === 0) t.lack('a message that is picked up within the wait');
      },
    },
  },
  {
    ...life,
    rule: 'SVC-2',
    name: 'sent-later',
    cost: { sends: 1 },
    sends: 'a message, and reads of it until it is picked up',
    demands: 'the reply came while the message was queued; sending came later',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      verify.equal('status of the 202', body['status'], 'queued');
      const one = { key: account.key, recipient: t.recipient, messageId };
      const left = await leavesQueued(t, one, 4 * pollIntervalMs(t));
      verify.given(() => verify.that(left !== undefined, 'a pickup', 'none in four polls'));
      t.count();
    },
    live: {
      ...watched,
      run: async (t) => {
        for (const of of await recordedLives(t)) {
          verify.equal('status of the 202', verify.object(of.first)['status'], 'queued');
          if (of.sightings.length > 1) t.count();
        }
        if (t.exercised === 0) t.lack('a message that is picked up within the wait');
      },
    },
  },
  {
    ...about('STATE-2/real-time-pickup', ['sender'], { sends: 1 }),
    alone: true,
    sends: 'a message, read until it is picked up',
    demands: 'it stays queued until it is sending (or fails)',
    run: async (t) => {
      const one = await queuedToWatch(t, await t.account(), {});
      const [of] = await watch(t, [one], { forMs: 2 * pollIntervalMs(t) });
      const next = of?.sightings[1]?.status;
      if (next === undefined || next === 'failed') return;
      verify.equal('status after queued', next, 'sending');
      t.count();
    },
    live: {
      ...watched,
      run: async (t) => {
        for (const of of await recordedLives(t)) {
          const next = of.sightings[1]?.status;
          if (next === undefined) continue;
          verify.that(
            next !== 'queued' && of.sightings[0]?.status === 'queued',
            'queued at first',
            describeLife(of),
          );
          t.count();
        }
      },
    },
  },
];
