/**
 * Cases about the number that a message is sent from, and the SIM behind it. Rules: AUTH-4, AUTH-5,
 * ERR-2, SVC-1. Most cases also send from a valid number, so that a service that refuses all does
 * not pass.
 */
import { hourMs, isoTime } from '#contract/time.ts';
import { about, type Case } from '../run/case.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';
import { otherRecipientOf } from '../target/target.ts';
import { alteredNumbers, twoSegments } from './similar-values.ts';

export const eachWay =
  'under both names of the field, with a request_id and a long text to another recipient by another key, held, and to each send endpoint';

/** Sends from this number in each way in which a service may check a sender or a quota. */
export async function sendEachWay(t: Trial, account: AccountUnderTest, from: string | undefined) {
  await t.send(account, { from });
  await t.send(account, { from: undefined, from_number: from });
  const to = otherRecipientOf(t.target) ?? t.recipient;
  const withOtherKey = { ...account, key: await t.anotherKey(account) };
  await t.send(withOtherKey, { from, to, request_id: t.requestId(), message: twoSegments });
  await t.send(account, { from, send_at: isoTime(t.now() + hourMs) });
  for (const path of [paths.dashboard_send, paths.external_send])
    await t.post(path, account.key, t.fields(account, { from }));
}

export const senderCases: readonly Case[] = [
  about('AUTH-4/unknown-number', ['sender', 'unknown-from'], 5, {
    spends: { dashboard_send: 1, external_send: 1 },
    sends: `a number that no SIM has, ${eachWay}, after one that the account has`,
    demands: '403 with code from_number_not_found',
    steps: async (t, account) => {
      await t.mustSend(account);
      await sendEachWay(t, account, t.unusedNumber());
    },
  }),
  about('AUTH-4/unknown-to-an-account-without-sims', ['fresh'], 2, {
    sends: 'a `from` that no SIM has, by an account without any',
    demands: '403 with code from_number_not_found',
    steps: async (t, account) => {
      await t.mustSend(account);
      await t.send(await t.account({ sims: 0 }), { from: t.unusedNumber() });
    },
  }),
  about('AUTH-4/every-digit-counts', ['sender'], 4, {
    sends:
      "the account's number with one digit changed, as `from`: the first, the last, one in between",
    demands: '403: this is a different number',
    steps: async (t, account) => {
      await t.mustSend(account);
      for (const from of alteredNumbers(account.from, t.target.seed)) {
        t.target.facts.addAltered(from);
        await t.send(account, { from });
      }
    },
  }),
  about('AUTH-5/not-allowed', ['fresh'], 4, {
    sends: 'a message from a number that the account may no longer use, then from its other number',
    demands: '403 with code from_number_access_deniedd, then 202',
    account: { sims: 2 },
    steps: async (t, account) => {
      await t.mustSend(account);
      await t.patchSim(account, 0, { allowed: false });
      await t.send(account);
      await t.send(account, { from: account.sims[1]?.number });
      await t.patchSim(account, 0, { allowed: true });
      await t.send(account);
    },
  }),
  about('AUTH-5/another-accounts-number', ['sender', 'foreign-from'], 5, {
    spends: { dashboard_send: 1, external_send: 1 },
    sends: `another account's number, ${eachWay}`,
    demands:
      '403 with code from_number_access_deniedd, or from_number_not_found where the service hides it (foreignNumber)',
    steps: async (t, account) => {
      await t.mustSend(account);
      await sendEachWay(t, account, t.target.flags.foreignFrom ?? (await t.account()).from);
    },
  }),
  about('ERR-2/deactivated-sim', ['sender', 'inactive-from'], 5, {
    spends: { dashboard_send: 1, external_send: 1 },
    sends: `a message from a deactivated SIM, ${eachWay}; one from an active SIM`,
    demands: '503 with code device_inactive; 202 from the active one',
    account: { sims: 2 },
    steps: async (t, account) => {
      const from = t.target.flags.inactiveFrom ?? account.sims[1]?.number;
      if (t.hasControl) {
        await t.mustSend(account, { from });
        await t.patchSim(account, 1, { active: false });
      }
      await sendEachWay(t, account, from);
      await t.send(account);
    },
  }),
  about('ERR-2/active-again', ['fresh'], 2, {
    sends: 'a message from a SIM that was deactivated and activated again',
    demands: '503, then 202',
    steps: async (t, account) => {
      for (const active of [false, true]) {
        await t.patchSim(account, 0, { active });
        await t.send(account);
      }
    },
  }),
  about('SVC-1/through-its-own-sim', ['sender', 'device'], 1, {
    sends: 'a message from each SIM of the account',
    demands: '202, from that number and device',
    account: { sims: 2 },
    steps: async (t, account) => {
      for (const { number } of account.sims) await t.send(account, { from: number });
    },
  }),
  about('SVC-1/pool-without-a-sim', ['pool'], 2, {
    sends: 'a message from the pool number by an account without a SIM',
    demands: '202, from the pool number, through a device',
    account: { sims: 0 },
    steps: async (t, account) => t.send(account, { from: await t.control.poolNumber() }),
  }),
  about('SVC-1/pool-with-a-disconnected-sim', ['pool'], 1, {
    sends: 'a message from the pool number by an account whose only SIM is not connected',
    demands: '202: it has no connected SIM of its own',
    steps: async (t, account) => {
      await t.patchSim(account, 0, { connected: false });
      await t.send(account, { from: await t.control.poolNumber() });
    },
  }),
  about('SVC-1/not-through-anothers-sim', ['sender', 'second-account'], 2, {
    sends: "a message from another account's number, by an account without a SIM if possible",
    demands: '403',
    steps: async (t, owner) => {
      await t.mustSend(owner);
      const other = t.hasControl ? await t.account({ sims: 0 }) : await t.otherAccount();
      await t.send(other, { from: owner.from });
    },
  }),
];
