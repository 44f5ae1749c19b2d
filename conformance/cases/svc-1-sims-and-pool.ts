/**
 * Which SIM sends a message. Rule: SVC-1.
 * Whether an account with a connected SIM may use the pool number is only observed
 * (`poolBesideOwnSim`).
 */
import { about, type Case } from '../case.ts';
import { defaultPoolNumber } from '../target.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { foreignRefusal, patchSim } from './auth-4-sender-numbers.ts';

/** A simulator's pool number; skips the case if its world has none. */
export async function poolNumber(t: Trial): Promise<string> {
  const { sims } = await t.control.must('sims.pool');
  const first: unknown = Array.isArray(sims) ? sims[0] : undefined;
  if (verify.isObject(first) && typeof first['number'] === 'string') return first['number'];
  return defaultPoolNumber;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const svc1SimsAndPoolCases: readonly Case[] = [
  {
    ...about('SVC-1/through-its-own-sim', ['fresh'], { sends: 2 }),
    sends: 'a message from each of two SIMs',
    demands: '202, from that number and device',
    run: async (t) => {
      const account = await t.account({ sims: t.controlled ? 2 : 1 });
      for (const { number, deviceId } of account.sims) {
        const body = verify.accepted(await t.send(account, { from: number }));
        verify.equal('from_number', body['from_number'], number);
        verify.sameUuid('device_id', body['device_id'], deviceId);
        t.count();
      }
    },
    live: { needs: ['sender', 'device'], cost: { sends: 1 } },
  },
  {
    ...about('SVC-1/pool-without-a-sim', ['pool'], { sends: 2 }),
    sends: 'a message from the pool number by an account without a SIM',
    demands: '202, from the pool number, through a device',
    run: async (t) => {
      const account = await t.account({ sims: 0 });
      const from = await poolNumber(t);
      const body = verify.accepted(await t.send(account, { from }));
      verify.equal('from_number', body['from_number'], from);
      verify.that(uuid.test(String(body['device_id'])), 'a device_id', String(body['device_id']));
      t.count();
    },
  },
  {
    ...about('SVC-1/pool-with-a-disconnected-sim', ['pool'], { sends: 1 }),
    sends: 'a message from the pool number by an account whose only SIM is not connected',
    demands: '202: it has no connected SIM of its own',
    run: async (t) => {
      const account = await t.account();
      await patchSim(t, account, 0, { connected: false });
      verify.accepted(await t.send(account, { from: await poolNumber(t) }));
      t.count();
    },
  },
  {
    ...about('SVC-1/not-through-anothers-sim', ['fresh'], { sends: 2 }),
    sends: "a message from another account's number, by an account without a SIM",
    demands: '403',
    run: async (t) => {
      const owner = await t.account();
      const account = await t.account({ sims: 0 });
      await t.queued(owner);
      foreignRefusal(await t.send(account, { from: owner.from }));
      t.count();
    },
    live: {
      needs: ['sender', 'second-account'],
      cost: { sends: 2 },
      run: async (t) => {
        const account = await t.account();
        await t.queued(account);
        foreignRefusal(await t.send(await t.otherAccount(), { from: account.from }));
        t.count();
      },
    },
  },
];
