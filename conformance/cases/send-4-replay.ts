/**
 * The same request under the same `request_id` again. Rule: SEND-4. Another body (`replayDifferentBody`), another key
 * (`replayScope`) and another endpoint (`replayAcrossEndpoints`) are observed.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import type { Fields, Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** 200, and the very bytes of the first reply. */
export function replayed(reply: Reply, first: Reply): void {
  verify.status(reply, 200);
  verify.that(
    reply.bytes.equals(first.bytes),
    `a body identical to the original 202 body, ${first.text}`,
    reply.text,
  );
}

export async function firstOf(
  t: Trial,
  account: Subject,
  fields: Fields = {},
): Promise<[Fields, Reply]> {
  const all = { ...fields, request_id: t.requestId() };
  const { reply } = await t.queued(account, all);
  return [all, reply];
}

const needs = ['sender'] as const;
const fresh = ['fresh'] as const;

export const send4ReplayCases: readonly Case[] = [
  {
    rule: 'SEND-4',
    name: 'replay-is-identical',
    needs,
    cost: { sends: 3 },
    sends: 'the same request_id a second and a third time',
    demands: '200 and a body identical to the original 202 body',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      replayed(await t.send(account, fields), first);
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'no-second-message',
    needs: fresh,
    cost: { sends: 3 },
    sends: 'a replay, then the list of messages',
    demands: 'one message exists',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      replayed(await t.send(account, fields), first);
      replayed(await t.send(account, fields), first);
      const count = await t.control.messageCount(account.accountId ?? '');
      if (count === undefined) t.lack('a list of messages on the control port');
      verify.equal('messages of the account', count, 1);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'fifty-at-once',
    needs,
    cost: { sends: 50 },
    sends: '50 sends with one request_id at once',
    demands: 'exactly one 202, 49 times 200, all bodies equal',
    run: async (t) => {
      const account = await t.account();
      if (!t.controlled) await t.queued(account);
      const fields = { request_id: t.requestId() };
      // Where all cases share one rate limit, fewer leave room for the others.
      const length = t.controlled ? 50 : 20;
      const replies = await Promise.all(Array.from({ length }, () => t.send(account, fields)));
      const created = replies.filter((reply) => reply.status === 202);
      verify.equal('202s', created.length, 1);
      const [first] = created;
      for (const reply of replies)
        if (first !== undefined && reply !== first) replayed(reply, first);
      if (t.controlled) {
        const count = await t.control.messageCount(account.accountId ?? '');
        if (count !== undefined) verify.equal('messages of the account', count, 1);
      }
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'refusals-between-do-not-matter',
    needs,
    cost: { sends: 4 },
    sends: 'a replay after a refused send of another request_id',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      await t.send(account, { request_id: t.requestId(), message: 'x'.repeat(1601) });
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'sim-deactivated',
    needs: fresh,
    cost: { sends: 3 },
    sends: 'a replay after the SIM was deactivated',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      await t.control.must('PATCH', `/control/sims/${account.sims[0]?.deviceId}`, {
        active: false,
      });
      const fresh = await t.send(account);
      verify.given(() => verify.status(fresh, 503));
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'quota-spent',
    needs: fresh,
    cost: { sends: 4 },
    sends: 'a replay after the monthly quota was spent',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const [fields, first] = await firstOf(t, account);
      await t.queued(account);
      const over = await t.send(account);
      verify.given(() => verify.status(over, 402));
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'spends-no-quota',
    needs: fresh,
    cost: { sends: 7 },
    sends: 'four replays under a quota of two, then a second message',
    demands: 'the replays are 200, the second message is 202: no second message was counted',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const [fields, first] = await firstOf(t, account);
      for (let i = 0; i < 4; i += 1) replayed(await t.send(account, fields), first);
      verify.accepted(await t.send(account));
      const over = await t.send(account);
      verify.given(() => verify.status(over, 402));
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'number-withdrawn',
    needs: ['fresh'],
    cost: { sends: 3 },
    sends: 'a replay after the account was forbidden to send from the number',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: t.requestId() };
      const { reply: first } = await t.queued(account, fields);
      const deviceId = account.sims[0]?.deviceId;
      await t.control.must('PATCH', `/control/sims/${deviceId}`, { allowed: false });
      const fresh = await t.send(account);
      verify.given(() => verify.status(fresh, 403));
      const reply = await t.send(account, fields);
      verify.status(reply, 200);
      verify.that(reply.bytes.equals(first.bytes), `the original body ${first.text}`, reply);
      t.count();
    },
  },
];
