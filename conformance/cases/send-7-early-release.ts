/** Only its time ends a hold, whichever endpoint is called meanwhile. Rule: SEND-7. */
import { about, type Case } from '../case.ts';
import { pollIntervalMs } from '../recorded-lives.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { iso } from './send-7-send-at.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The longest exceeds the 2^31 ms that a timer can wait in many languages. */
const farHolds = [
  ['a day and five seconds', dayMs + 5_000],
  ['40 days', 40 * dayMs],
] as const;
const gone = ['sending', 'sent', 'delivered', 'failed'];

/** By then, a device that polls every 20 s has polled at least once. */
const realSeconds = 22;

export const send7EarlyReleaseCases: readonly Case[] = [
  {
    ...about('SEND-7/nothing-ends-a-hold', ['sender'], { sends: 9, waits: realSeconds }),
    alone: true,
    spends: { send: 5, dashboard_send: 2, external_send: 2, tasks: 1 },
    sends:
      'messages held for an hour by each send endpoint, for a day and for 40 days; then a poll for tasks, a replay and an immediate message',
    demands: 'all of them are still held after a poll of the device',
    run: async (t) => {
      const account = await t.account();
      const now = await t.now();
      const send_at = iso(now + hourMs);
      const fields = t.fields(account, { send_at, request_id: t.requestId() });
      const held = new Map<string, string>();
      const keep = (what: string, body: Record<string, unknown>) =>
        held.set(what, String(body['message_id']));
      keep('held by the send endpoint', verify.accepted(await t.send(account, fields)));
      for (const path of [paths.dashboard_send, paths.external_send]) {
        // The document shows a body only for the send endpoint; the others may not support send_at.
        const past = t.fields(account, { send_at: iso(now - hourMs) });
        const refusal = await t.post(path, account.key, past);
        if (refusal.status !== 400 || !verify.fieldsNamed(refusal).includes('send_at')) continue;
        const reply = await t.post(path, account.key, t.fields(account, { send_at }));
        if (reply.status === 202) keep(`held by ${path}`, verify.accepted(reply));
      }
      for (const [days, ms] of farHolds) {
        const reply = await t.send(account, { send_at: iso(now + ms) });
        // The target may not allow a time so far ahead (`sendAtMaxAheadDays`).
        if (reply.status === 202) keep(`held for ${days}`, verify.object(reply));
      }
      const allHeld = async (when: string) => {
        for (const [what, messageId] of held) {
          const { status } = verify.message(await t.read(account, messageId), 200);
          verify.that(!gone.includes(String(status)), `${what} ${when}`, String(status));
        }
      };
      const [sim] = account.sims;
      if (sim !== undefined) await t.get(paths.tasks(sim.deviceId), account.key);
      await allHeld('after a poll for tasks');
      await t.send(account, fields);
      await t.queued(account);
      const pollMs = pollIntervalMs(t);
      for (const ms of t.controlled ? [pollMs, pollMs] : [2_000, (realSeconds - 2) * 1_000]) {
        await t.advance(ms);
        await allHeld('after a replay, an immediate message and a poll of the device');
      }
      t.count();
    },
  },
];
