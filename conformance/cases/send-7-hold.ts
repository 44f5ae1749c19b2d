/**
 * `send_at` holds a message until that time. Rules: SEND-7, STATE-1.
 * During the hold, a read may show `queued` or another name (`heldStatus`).
 */
import { about, type Case } from '../case.ts';
import { byLives, lackRoom, pickedUpInTime } from '../judge-lives.ts';
import { isPassedOver, latestPickupMs, pollForTasks, pollIntervalMs } from '../recorded-lives.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { iso } from './send-7-send-at.ts';

const minute = 60_000;
const gone = ['sending', 'sent', 'delivered', 'failed'];

async function statusOf(t: Trial, account: Subject, messageId: string): Promise<string> {
  return String(verify.message(await t.read(account, messageId), 200)['status']);
}

export async function holds(t: Trial, delayMs: number): Promise<void> {
  const account = await t.account();
  const now = await t.now();
  const body = verify.accepted(await t.send(account, { send_at: iso(now + delayMs) }));
  verify.equal('status of the 202', body['status'], 'queued');
  const messageId = String(body['message_id']);
  let passed = 0;
  for (const share of [0.1, 0.35, 0.6, 0.9, 0.99]) {
    await t.advance(delayMs * share - passed);
    passed = delayMs * share;
    const status = await statusOf(t, account, messageId);
    verify.that(!gone.includes(status), `held for ${delayMs / 1000} s`, `${status} before`);
  }
  await t.advance(delayMs - passed);
  const step = pollIntervalMs(t) / 4;
  for (let i = 0; i < 6; i += 1) {
    await t.advance(step);
    if (gone.includes(await statusOf(t, account, messageId))) return t.count();
  }
  t.fail('pickup within about one poll of send_at', await statusOf(t, account, messageId));
}

const briefMs = 12_000;

/** In real time a read may be delayed, so only reads before `send_at` count as early. */
async function holdsBriefly(t: Trial): Promise<void> {
  if (t.controlled) return holds(t, briefMs);
  const account = await t.account();
  const until = (await t.now()) + briefMs;
  const { messageId } = await t.queued(account, { send_at: iso(until) });
  for (;;) {
    const askedAt = await t.now();
    const status = await statusOf(t, account, messageId);
    const now = await t.now();
    if (gone.includes(status)) {
      verify.that(now >= until - clockDriftMs, `held for ${briefMs / 1000} s`, `${status} before`);
      return t.count();
    }
    if (askedAt >= until + latestPickupMs) {
      await pollForTasks(t);
      if (gone.includes(await statusOf(t, account, messageId))) return t.count();
      if (await isPassedOver(t, messageId, account.key)) lackRoom(t);
      t.fail('pickup within about 20 s of send_at', status);
    }
    await t.advance(500);
  }
}

/**
 * The largest allowed difference between the target's clock and ours; with more, every hold would
 * look early or late.
 */
const clockDriftMs = 2_000;

const needs = ['sender'] as const;
const clock = ['fresh', 'clock'] as const;
const day = 86_400_000;
const plan = { needs: ['fresh', 'clock'], alone: true, cost: { sends: 1 } } as const;

export const send7HoldCases: readonly Case[] = [
  {
    ...about('SEND-7/holds-ten-minutes', clock, { sends: 1 }),
    alone: true,
    sends: 'a send_at ten minutes ahead',
    demands: 'held until then, picked up within about one poll of it',
    run: (t) => holds(t, 10 * minute),
  },
  {
    ...about('SEND-7/holds-twelve-hours', clock, { sends: 1 }),
    alone: true,
    sends: 'a send_at twelve hours ahead',
    demands: 'held until then, picked up within about one poll of it',
    run: (t) => holds(t, 12 * 60 * minute),
  },
  {
    ...about('SEND-7/absent-is-immediate', clock, { sends: 1 }),
    alone: true,
    sends: 'a message without send_at',
    demands: 'picked up within about one poll',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      for (let i = 0; i < 6; i += 1) {
        await t.advance(pollIntervalMs(t) / 4);
        if ((await statusOf(t, account, messageId)) !== 'queued') return t.count();
      }
      t.fail('pickup within about one poll', 'still queued');
    },
    live: byLives((t, lives) => {
      for (const of of lives) pickedUpInTime(t, of);
    }),
  },
  {
    ...about('SEND-7/holds-twelve-seconds', needs, { sends: 1, waits: 40 }),
    alone: true,
    sends: 'a send_at twelve seconds ahead, and reads of it until it is picked up',
    demands: 'held until then, picked up within about one poll of it',
    run: holdsBriefly,
  },
  {
    ...about('SEND-7/held-is-not-sent-early', needs, { sends: 1, waits: 3 }),
    alone: true,
    sends: 'a send_at one hour ahead, and reads of it for three seconds',
    demands: 'neither sending nor any later state',
    run: async (t) => {
      const account = await t.account();
      const body = verify.accepted(
        await t.send(account, { send_at: iso((await t.now()) + 60 * minute) }),
      );
      for (let i = 0; i < 3; i += 1) {
        await t.advance(1_000);
        const status = await statusOf(t, account, String(body['message_id']));
        verify.that(!gone.includes(status), 'held', status);
      }
      t.count();
    },
  },
  {
    ...plan,
    rule: 'SEND-7',
    name: 'holds-three-days',
    sends: 'a send_at three days ahead',
    demands: 'held until then, picked up within about one poll of it',
    run: (t) => {
      const most = t.assumption('sendAtMaxAheadDays');
      if (typeof most === 'number' && most <= 3)
        t.lack('a target that takes a send_at three days ahead (sendAtMaxAheadDays)');
      return holds(t, 3 * day);
    },
  },
  {
    ...plan,
    rule: 'SEND-7',
    name: 'tasks-keep-the-hold',
    sends: 'a send_at one hour ahead from a SIM whose device asks for its tasks before and after',
    demands: 'not among the tasks before that time, among them after',
    run: async (t) => {
      const account = await t.account({ sim: { polling: 'external' } });
      const send_at = new Date((await t.now()) + 60 * minute).toISOString();
      const { messageId } = await t.queued(account, { send_at });
      for (const pause of [0, 30 * minute]) {
        await t.advance(pause);
        const tasks = await t.get(paths.tasks(account.sims[0]?.deviceId ?? ''), account.key);
        verify.given(() => verify.status(tasks, 200));
        verify.that(!tasks.text.includes(messageId), 'tasks without the held message', tasks);
        const reply = await t.read(account, messageId);
        const status = String(verify.message(reply, 200)['status']);
        verify.that(!gone.includes(status), 'held', status);
      }
      await t.advance(31 * minute);
      const tasks = await t.get(paths.tasks(account.sims[0]?.deviceId ?? ''), account.key);
      verify.that(tasks.text.includes(messageId), 'the message among the tasks', tasks);
      t.count();
    },
    live: {
      needs: ['sender', 'device'],
      cost: { sends: 1 },
      spends: { send: 1, tasks: 1 },
      run: async (t) => {
        const account = await t.account();
        const send_at = new Date((await t.now()) + 60 * minute).toISOString();
        const { messageId } = await t.queued(account, { send_at });
        const tasks = await t.get(paths.tasks(account.sims[0]?.deviceId ?? ''), account.key);
        verify.given(() => verify.status(tasks, 200));
        verify.that(!tasks.text.includes(messageId), 'tasks without the held message', tasks);
        const status = await statusOf(t, account, messageId);
        verify.that(!gone.includes(status), 'held', status);
        t.count();
      },
    },
  },
  {
    ...plan,
    rule: 'SEND-7',
    name: 'holds-to-the-second',
    sends: 'a send_at at the 58th second of a minute, three minutes ahead',
    demands: 'still held in the last second before it',
    run: async (t) => {
      if (pollIntervalMs(t) > 50_000)
        t.lack('a target whose devices poll at least once within 50 s (pollIntervalSeconds)');
      const account = await t.account();
      const at = Math.floor((await t.now()) / minute) * minute + 3 * minute + 58_000;
      const body = verify.accepted(await t.send(account, { send_at: new Date(at).toISOString() }));
      await t.control.advanceTo(at - 500);
      const reply = await t.read(account, String(body['message_id']));
      const status = String(verify.message(reply, 200)['status']);
      verify.that(!gone.includes(status), 'held half a second before send_at', status);
      t.count();
    },
  },
];
