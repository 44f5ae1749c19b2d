/** When a message is picked up, and how fast its status changes. Rules: SVC-2, SVC-3, STATE-2. */
import { about, type Case } from '../case.ts';
import { aPickup, byLives, describeLife, ofLives, pickedUpInTime } from '../judge-lives.ts';
import { pollIntervalMs, queuedToWatch, type RecordedLife, watch } from '../recorded-lives.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { statusOf } from './state-2-life.ts';

/** Milliseconds from each status to the next. */
function gaps({ sightings }: RecordedLife): number[] {
  return sightings.slice(1).map(({ at }, i) => at - (sightings[i]?.at ?? 0));
}

/** When a read first showed another status than queued; undefined if none did within the time. */
async function leavesQueued(
  t: Trial,
  key: string,
  messageId: string,
  withinMs: number,
): Promise<number | undefined> {
  const step = Math.max(1, Math.floor(pollIntervalMs(t) / 8));
  for (let passed = 0; passed < withinMs; ) {
    const pause = Math.min(step, withinMs - passed);
    await t.advance(pause);
    passed += pause;
    if ((await statusOf(t, key, messageId)) !== 'queued') return passed;
  }
  return undefined;
}

const clock = ['fresh', 'clock'] as const;

export const svc3PickupCases: readonly Case[] = [
  {
    ...about('SVC-3/picked-up-within-a-poll', clock, { sends: 2 }),
    alone: true,
    sends: 'a message; when it is picked up, another one from the same SIM',
    demands: 'both are picked up within about 20 s',
    run: async (t) => {
      const account = await t.account();
      // "About 20 s" allows a quarter more. A simulator with a longer poll interval is measured by
      // its setting.
      const longest = Math.max(20_000, pollIntervalMs(t)) * 1.25;
      for (let i = 0; i < 2; i += 1) {
        const { messageId } = await t.queued(account);
        const left = await leavesQueued(t, account.key, messageId, longest);
        verify.that(left !== undefined, `pickup within ${longest / 1000} s`, 'still queued then');
        t.count();
      }
    },
    live: byLives((t, lives) => {
      for (const of of lives) pickedUpInTime(t, of);
    }),
  },
  {
    ...ofLives(
      'SVC-3/no-faster-than-polls',
      'at least about 20 s between two changes of a status',
      (t, lives) => {
        if (t.assumption('progressPace') === 'own_delay')
          t.lack('a target whose devices report at their polls (progressPace)');
        const shortest = Math.min(20_000, pollIntervalMs(t)) * 0.75;
        for (const of of lives)
          for (const gap of gaps(of).slice(1)) {
            const expected = `${shortest / 1000} s between two changes`;
            verify.that(gap >= shortest, expected, describeLife(of));
            t.count();
          }
      },
    ),
    // Progress does not depend on reads, whatever its pace (`progressPace`).
    live: byLives((t, lives) => {
      for (const of of lives) {
        const followsReads = gaps(of).length === 3 && gaps(of).every((gap) => gap < 400);
        const expected = 'a status that does not change with each read';
        verify.that(!followsReads, expected, describeLife(of));
        if (gaps(of).length > 0) t.count();
      }
    }, aPickup),
  },
  {
    ...about('SVC-2/sent-later', clock, { sends: 1 }),
    alone: true,
    sends: 'a message, and reads of it until it is picked up',
    demands: 'the reply came while the message was queued; sending came later',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      verify.equal('status of the 202', body['status'], 'queued');
      const left = await leavesQueued(t, account.key, messageId, 4 * pollIntervalMs(t));
      verify.given(() => verify.that(left !== undefined, 'a pickup', 'none in four polls'));
      t.count();
    },
    live: byLives((t, lives) => {
      for (const of of lives) {
        verify.equal('status of the 202', verify.object(of.first)['status'], 'queued');
        if (of.sightings.length > 1) t.count();
      }
    }, aPickup),
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
    live: byLives((t, lives) => {
      for (const of of lives) {
        const [first, next] = of.sightings;
        if (next === undefined) continue;
        const isQueuedAtFirst = first?.status === 'queued' && next.status !== 'queued';
        verify.that(isQueuedAtFirst, 'queued at first', describeLife(of));
        t.count();
      }
    }),
  },
];
