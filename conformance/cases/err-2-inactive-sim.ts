/** Sending from a deactivated SIM. Rule: ERR-2. */
import { about, type Case } from '../case.ts';
import * as verify from '../verify.ts';
import { patchSim } from './auth-4-sender-numbers.ts';

export const err2InactiveSimCases: readonly Case[] = [
  {
    ...about('ERR-2/deactivated-sim', ['sender', 'inactive-from'], { sends: 4 }),
    sends: 'a message from a deactivated SIM, and from an active one',
    demands: '503 with code device_inactive; 202 from the active one',
    run: async (t) => {
      const account = await t.account({ sims: t.controlled ? 2 : 1 });
      const active = await t.send(account);
      if (active.status !== 503) verify.given(() => verify.accepted(active));
      verify.accepted(active);
      const from = t.target.flags.inactiveFrom ?? account.sims[1]?.number;
      if (t.controlled) {
        await t.queued(account, { from });
        await patchSim(t, account, 1, { active: false });
      }
      const reply = await t.send(account, { from });
      verify.refused(reply, 503, 'device_inactive');
      verify.declaredJson(reply);
      verify.accepted(await t.send(account));
      t.count();
    },
    live: { needs: ['sender', 'inactive-from'], cost: { sends: 3 } },
  },
  {
    ...about('ERR-2/active-again', ['fresh'], { sends: 2 }),
    sends: 'a message from a SIM that was deactivated and activated again',
    demands: '503, then 202',
    run: async (t) => {
      const account = await t.account();
      await patchSim(t, account, 0, { active: false });
      verify.refused(await t.send(account), 503, 'device_inactive');
      await patchSim(t, account, 0, { active: true });
      verify.accepted(await t.send(account));
      t.count();
    },
  },
];
