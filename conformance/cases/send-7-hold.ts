/**
 * Holds over days, and holds that end within a minute of the clock. Rule: SEND-7.
 */
import type { Case } from '../case.ts';
import { pollIntervalMs } from '../recorded-lives.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { holds } from './send-7-send-at.ts';

const minute = 60_000;
const day = 86_400_000;
const gone = ['sending', 'sent', 'delivered', 'failed'];

const plan = { needs: ['fresh', 'clock'], alone: true, cost: { sends: 1 } } as const;

export const moreHoldingCases: readonly Case[] = [
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
    demands: 'not among the tasks before, among them after',
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
