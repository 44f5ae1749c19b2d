/**
 * Every spelling of UTC means UTC. Rule: SEND-7. A wrong zone would shift the time by at least half
 * an hour.
 */
import { about, type Case } from '../case.ts';
import * as verify from '../verify.ts';
import { iso } from './send-7-send-at.ts';

const halfAnHourMs = 1_800_000;

export const send7ZonesCases: readonly Case[] = [
  {
    ...about('SEND-7/no-other-zone', ['sender'], { sends: 4 }),
    sends: 'a send_at of half an hour ago and of half an hour ahead, with Z and with +00:00',
    demands: '400 that names `send_at` for the past, 202 for the future',
    run: async (t) => {
      const account = await t.account();
      const now = await t.now();
      const past = iso(now - halfAnHourMs).slice(0, 19);
      for (const zone of ['.000Z', '+00:00'])
        verify.invalid(await t.send(account, { send_at: `${past}${zone}` }), 'send_at');
      const future = iso(now + halfAnHourMs).slice(0, 19);
      for (const zone of ['.000Z', '+00:00'])
        verify.accepted(await t.send(account, { send_at: `${future}${zone}` }));
      t.count();
    },
  },
];
