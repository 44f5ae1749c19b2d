/**
 * Sends that must be refused, for a wrong field, sender or quota. Several rules judge the replies:
 * SEND-4, because a refused `request_id` is no original, and SVC-4, because a refusal is JSON.
 */

import type { Recording } from '../run/case.ts';
import { type Fields, paths, type Subject, type Trial } from '../run/case-run.ts';

/** The length that a message may have at most (SEND-6). */
export const longestMessage = 1_600;
export const tooLongMessage = 'x'.repeat(longestMessage + 1);

/** Each one fails a different check of fields. */
const invalidFields: readonly Fields[] = [
  { message: tooLongMessage },
  { to: 'x' },
  { send_at: 'soon' },
];

/** A valid send of the same id follows each send that only the quota does not refuse. */
export const refusedSends: Recording = {
  name: 'refused sends',
  needs: ['sender'],
  spends: { send: 7 },
  record: async (t) => {
    const account = await t.account({ sims: 2 });
    // Shows that the key is accepted.
    await t.get(paths.stats, account.key);
    const senders = await refusedSenders(t, account);
    for (const wrong of [...t.someOf(invalidFields, 1), ...senders]) {
      const request_id = t.requestId();
      await t.send(account, { ...wrong, request_id });
      await t.send(account, { request_id });
    }
    const exhausted = await t.exhaustedAccount(account.from);
    if (exhausted !== undefined) await t.send(exhausted, { request_id: t.requestId() });
  },
};

/** An unknown sender and one whose SIM is deactivated, as far as the run has them. */
async function refusedSenders(t: Trial, account: Subject): Promise<Fields[]> {
  const { unknownFrom, inactiveFrom } = t.target.flags;
  if (!t.controlled)
    return [unknownFrom, inactiveFrom].flatMap((from) => (from === undefined ? [] : { from }));
  await t.patchSim(account, 1, { active: false });
  return [{ from: t.unusedNumber() }, { from: account.sims[1]?.number }];
}
