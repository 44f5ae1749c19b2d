/**
 * Replays as time passes: within 24 hours, after 24 hours, and after the message has moved on.
 * Rule: SEND-4.
 */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { livesInRealTime, recordedLives } from '../recorded-lives.ts';
import type { Fields, Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { firstOf, replayed, replaysAfter } from './send-4-replay.ts';

const hour = 3_600_000;
const day = 24 * hour;
const clock = ['fresh', 'clock'] as const;

/** A lead is too short if the request takes longer, or if the target's clock is fast. */
const leadsMs = [3_000, 10_000, 30_000];
const afterwardsMs = 1_500;

/** Sends a message that is held for as short as the target's speed allows. */
async function heldBriefly(t: Trial, account: Subject): Promise<[Fields, Reply, number]> {
  for (let i = 0; ; i += 1) {
    const leadMs = leadsMs[i] ?? 0;
    const untilMs = (await t.now()) + leadMs;
    const fields = { request_id: t.requestId(), send_at: new Date(untilMs).toISOString() };
    const reply = await t.send(account, fields);
    if (reply.status === 400 && i + 1 < leadsMs.length) continue;
    verify.given(() => verify.accepted(reply));
    return [fields, reply, untilMs];
  }
}

export const send4WindowCases: readonly Case[] = [
  {
    ...about('SEND-4/whatever-the-status', clock, { sends: 6 }),
    alone: true,
    sends: 'a replay after every change of the status',
    demands: '200 and the original body, which says queued',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      const messageId = String(verify.object(first)['message_id']);
      const interval = Number(t.assumption('pollIntervalSeconds') ?? 20) * 1000;
      let status = 'queued';
      const step = interval / 4;
      for (let passed = step; passed < Math.min(8 * interval, day); passed += step) {
        await t.advance(step);
        const reply = await t.read(account, messageId);
        const current = String(verify.given(() => verify.message(reply, 200))['status']);
        if (current === status) continue;
        status = current;
        replayed(await t.send(account, fields), first);
        t.count();
      }
      if (interval > day / 8 && t.exercised === 0)
        t.lack('a status that changes within 24 hours (pollIntervalSeconds)');
    },
    live: {
      needs: ['sender'],
      cost: { sends: 2 },
      judges: [livesInRealTime],
      run: async (t) => {
        const account = await t.account();
        for (const { fields, first, sightings } of await recordedLives(t)) {
          if (sightings.length === 1) t.lack('a message that is picked up within the wait');
          replayed(await t.send(account, fields), first);
          t.count();
        }
      },
    },
  },
  {
    ...about('SEND-4/within-24-hours', clock, { sends: 5 }),
    alone: true,
    sends: 'replays after 1, 12, 23 hours and one second before 24 hours',
    demands: '200 and the original body, to the byte',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      let at = 0;
      for (const age of [hour, 12 * hour, 23 * hour + 60_000, day - 1_000]) {
        await t.advance(age - at);
        at = age;
        replayed(await t.send(account, fields), first);
        t.count();
      }
    },
  },
  {
    ...replaysAfter('unused-for-nearly-24-hours', {
      needs: clock,
      sends: 2,
      event: '24 hours but one second, the first one since',
      happens: (t) => t.advance(day - 1_000),
    }),
    alone: true,
  },
  {
    ...about('SEND-4/new-after-24-hours', clock, { sends: 3 }),
    alone: true,
    sends: 'the same request_id after 23 hours, and again one second after 24 hours',
    demands: '200, then a new message: a replay does not prolong the window',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      await t.advance(23 * hour);
      replayed(await t.send(account, fields), first);
      await t.advance(hour + 1_000);
      const again = verify.accepted(await t.send(account, fields));
      const { message_id } = verify.object(first);
      verify.that(again['message_id'] !== message_id, 'a new message_id', String(message_id));
      t.count();
    },
  },
  {
    ...about('SEND-4/send-at-has-passed', clock, { sends: 3 }),
    alone: true,
    sends: 'a replay of a held message after its send_at has passed',
    demands: '200 and the original body: the replay is no new message to validate',
    run: async (t) => {
      if (t.assumption('gateOrder') === 'validate_first')
        t.lack('a target that looks for a replay before it validates (gateOrder)');
      const account = await t.account();
      const send_at = new Date((await t.now()) + hour).toISOString();
      const [fields, first] = await firstOf(t, account, { send_at });
      replayed(await t.send(account, fields), first);
      await t.advance(2 * hour);
      replayed(await t.send(account, fields), first);
      t.count();
    },
    live: {
      needs: ['sender'],
      cost: { sends: 4, waits: 5 },
      run: async (t) => {
        const account = await t.account();
        const [fields, first, untilMs] = await heldBriefly(t, account);
        replayed(await t.send(account, fields), first);
        // If a replay is refused now, validation comes before the replay, so a later replay may be
        // refused too.
        const invalid = await t.send(account, { ...fields, message: 'x'.repeat(1601) });
        await t.advance(untilMs + afterwardsMs - (await t.now()));
        const reply = await t.send(account, fields);
        if (reply.status === 400 && invalid.status === 400)
          t.lack('a target that looks for a replay before it validates (gateOrder)');
        replayed(reply, first);
        t.count();
      },
    },
  },
  {
    ...about('SEND-4/held-message-after-24-hours', ['fresh', 'clock'], { sends: 2 }),
    alone: true,
    sends: 'a message held for 30 hours, and its request_id again one second after 24 hours',
    demands: 'a new message: the 24 hours begin with the first use, not with send_at',
    run: async (t) => {
      const most = t.assumption('sendAtMaxAheadDays');
      if (typeof most === 'number' && most < 2)
        t.lack('a target that takes a send_at 30 hours ahead (sendAtMaxAheadDays)');
      const account = await t.account();
      const send_at = new Date((await t.now()) + 30 * 3_600_000).toISOString();
      const fields = { request_id: t.requestId(), send_at };
      const { messageId } = await t.queued(account, fields);
      await t.advance(24 * 3_600_000 + 1_000);
      const again = verify.accepted(await t.send(account, fields));
      verify.that(again['message_id'] !== messageId, 'a new message_id', messageId);
      t.count();
    },
  },
];
