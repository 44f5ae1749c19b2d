/**
 * Who may send from which number. Rules: SVC-1, AUTH-4, AUTH-5, ERR-2, SVC-4.
 * Another account's number may be refused under either code (`foreignNumber`); the pool beside an own SIM is observed.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { defaultPoolNumber } from '../target.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const notFound = 'from_number_not_found';
const denied = 'from_number_access_deniedd';

function foreignRefusal(reply: Reply): void {
  if (verify.codeOf(reply) === notFound) verify.refused(reply, 403, notFound);
  else verify.refused(reply, 403, denied);
}

/** A simulator's pool number, or a skip when its world has none. */
export async function poolNumber(t: Trial): Promise<string> {
  const state = await t.control.call('GET', '/control/state');
  const told = verify.isObject(state.json) ? state.json['pool'] : undefined;
  const first: unknown = Array.isArray(told) ? told[0] : undefined;
  if (typeof first === 'string') return first;
  if (verify.isObject(first) && typeof first['number'] === 'string') return first['number'];
  return defaultPoolNumber;
}

function patchSim(t: Trial, account: Subject, index: number, change: Record<string, unknown>) {
  return t.control.must('PATCH', `/control/sims/${account.sims[index]?.deviceId}`, change);
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const senderCases: readonly Case[] = [
  {
    rule: 'SVC-1',
    name: 'through-its-own-sim',
    needs: ['fresh'],
    cost: { sends: 2 },
    sends: 'a message from each of two SIMs',
    demands: '202, from that number and device',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      for (const { number, deviceId } of account.sims) {
        const body = verify.accepted(await t.send(account, { from: number }));
        verify.equal('from_number', body['from_number'], number);
        verify.equal('device_id', body['device_id'], deviceId);
        t.count();
      }
    },
  },
  {
    rule: 'SVC-1',
    name: 'pool-without-a-sim',
    needs: ['pool'],
    cost: { sends: 2 },
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
    rule: 'SVC-1',
    name: 'pool-with-a-disconnected-sim',
    needs: ['pool'],
    cost: { sends: 1 },
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
    rule: 'SVC-1',
    name: 'not-through-anothers-sim',
    needs: ['fresh'],
    cost: { sends: 2 },
    sends: "a message from another account's number, by an account without a SIM",
    demands: '403',
    run: async (t) => {
      const owner = await t.account();
      const account = await t.account({ sims: 0 });
      await t.queued(owner);
      foreignRefusal(await t.send(account, { from: owner.from }));
      t.count();
    },
  },
  {
    rule: 'AUTH-4',
    name: 'unknown-number',
    needs: ['sender', 'unknown-from'],
    cost: { sends: 2 },
    sends: 'a `from` that no SIM has, after one that the account has',
    demands: `403 with code ${notFound}`,
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      const from = t.target.flags.unknownFrom ?? t.control.unusedNumber();
      verify.refused(await t.send(account, { from }), 403, notFound);
      t.count();
    },
  },
  {
    rule: 'AUTH-4',
    name: 'unknown-to-an-account-without-sims',
    needs: ['fresh'],
    cost: { sends: 2 },
    sends: 'a `from` that no SIM has, by an account without any',
    demands: `403 with code ${notFound}`,
    run: async (t) => {
      await t.queued(await t.account());
      const account = await t.account({ sims: 0 });
      const from = t.control.unusedNumber();
      verify.refused(await t.send(account, { from }), 403, notFound);
      t.count();
    },
  },
  {
    rule: 'AUTH-5',
    name: 'not-allowed',
    needs: ['fresh'],
    cost: { sends: 4 },
    sends: 'a message from a number that the account may not use any more, then from its other one',
    demands: `403 with code ${denied}, then 202`,
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      await t.queued(account);
      await patchSim(t, account, 0, { allowed: false });
      verify.refused(await t.send(account), 403, denied);
      verify.accepted(await t.send(account, { from: account.sims[1]?.number }));
      await patchSim(t, account, 0, { allowed: true });
      verify.accepted(await t.send(account));
      t.count();
    },
  },
  {
    rule: 'AUTH-5',
    name: 'another-accounts-number',
    needs: ['sender', 'foreign-from'],
    cost: { sends: 3 },
    sends: "another account's number",
    demands: `403 with code ${denied}, or ${notFound} where the service hides it (foreignNumber)`,
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      const from = t.target.flags.foreignFrom ?? (await t.account()).from;
      const reply = await t.send(account, { from });
      foreignRefusal(reply);
      if (verify.codeOf(reply) === notFound) t.lack('a target that admits that the number exists');
      t.count();
    },
  },
  {
    rule: 'ERR-2',
    name: 'deactivated-sim',
    needs: ['sender', 'inactive-from'],
    cost: { sends: 4 },
    sends: 'a message from a deactivated SIM, and from an active one',
    demands: '503 with code device_inactive; 202 from the active one',
    run: async (t) => {
      const account = await t.account({ sims: t.controlled ? 2 : 1 });
      await t.queued(account);
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
  },
  {
    rule: 'ERR-2',
    name: 'active-again',
    needs: ['fresh'],
    cost: { sends: 2 },
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
  {
    rule: 'SVC-4',
    name: 'refused-senders-are-json',
    needs: ['fresh'],
    cost: { sends: 5 },
    sends: 'refusals with 400, 402, 403 and 503',
    demands: 'JSON bodies, declared as such',
    run: async (t) => {
      const account = await t.account({ sims: 2, quota: 1 });
      const { reply } = await t.queued(account);
      verify.declaredJson(reply);
      await patchSim(t, account, 1, { active: false });
      const refusals = [
        await t.send(account, { message: 'x'.repeat(1601) }),
        await t.send(account),
        await t.send(account, { from: t.control.unusedNumber() }),
        await t.send(account, { from: account.sims[1]?.number }),
      ];
      for (const [index, status] of [400, 402, 403, 503].entries()) {
        const refusal = refusals[index];
        if (refusal === undefined) continue;
        verify.status(refusal, status);
        verify.declaredJson(refusal);
        t.count();
      }
    },
  },
];
