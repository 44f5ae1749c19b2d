/**
 * The numbers that an account may send from. Rules: AUTH-4, AUTH-5.
 * Another account's number may be refused with either code (`foreignNumber`).
 */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const notFound = 'from_number_not_found';
const denied = 'from_number_access_deniedd';

export function foreignRefusal(reply: Reply): void {
  if (verify.codeOf(reply) === notFound) verify.refused(reply, 403, notFound);
  else verify.refused(reply, 403, denied);
}

export function patchSim(
  t: Trial,
  account: Subject,
  index: number,
  change: Record<string, unknown>,
) {
  return t.control.must('sims.patch', { id: account.sims[index]?.deviceId, input: change });
}

export const auth4SenderNumbersCases: readonly Case[] = [
  {
    ...about('AUTH-4/unknown-number', ['sender', 'unknown-from'], { sends: 2 }),
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
    ...about('AUTH-4/unknown-to-an-account-without-sims', ['fresh'], { sends: 2 }),
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
    ...about('AUTH-5/not-allowed', ['fresh'], { sends: 4 }),
    sends: 'a message from a number that the account may no longer use, then from its other number',
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
    ...about('AUTH-5/another-accounts-number', ['sender', 'foreign-from'], { sends: 2 }),
    sends: "another account's number",
    demands: `403 with code ${denied}, or ${notFound} where the service hides it (foreignNumber)`,
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      const from = t.target.flags.foreignFrom ?? (await t.account()).from;
      const reply = await t.send(account, { from });
      foreignRefusal(reply);
      if (verify.codeOf(reply) === notFound) t.lack('a target that reveals that the number exists');
      t.count();
    },
  },
];
