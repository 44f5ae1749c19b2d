/**
 * The same request_id again.
 * Rules: SEND-4, and SVC-4 of its body. Only the same body under the same key is sent again: another body
 * (`replayDifferentBody`), another key (`replayScope`) and another endpoint are observed, not judged.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import type { Fields, Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** 200, and the very bytes of the first reply. */
function replayed(reply: Reply, first: Reply): void {
  verify.status(reply, 200);
  verify.that(
    reply.bytes.equals(first.bytes),
    `a body identical to the original 202 body, ${first.text}`,
    reply.text,
  );
}

async function firstOf(t: Trial, account: Subject, fields: Fields = {}): Promise<[Fields, Reply]> {
  const all = { ...fields, request_id: t.requestId() };
  const { reply } = await t.queued(account, all);
  return [all, reply];
}

const needs = ['sender'] as const;
const fresh = ['fresh'] as const;
const clock = ['fresh', 'clock'] as const;

export const replayCases: readonly Case[] = [
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
    name: 'other-keys-are-other-messages',
    needs,
    cost: { sends: 4 },
    sends: 'two request_ids, alternating',
    demands: 'each replays its own message',
    run: async (t) => {
      const account = await t.account();
      const [a, firstA] = await firstOf(t, account);
      const [b, firstB] = await firstOf(t, account);
      verify.that(!firstA.bytes.equals(firstB.bytes), 'two messages', firstB);
      replayed(await t.send(account, a), firstA);
      replayed(await t.send(account, b), firstB);
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
    name: 'accounts-do-not-share',
    needs: fresh,
    cost: { sends: 4 },
    sends: 'one request_id from two accounts',
    demands: '202 for both, two messages; each replays its own',
    run: async (t) => {
      const account = await t.account();
      const other = await t.account();
      const [fields, first] = await firstOf(t, account);
      const second = await t.send(other, fields);
      const body = verify.accepted(second);
      verify.equal('from_number', body['from_number'], other.from);
      verify.that(!second.bytes.equals(first.bytes), 'another message', second);
      replayed(await t.send(account, fields), first);
      replayed(await t.send(other, fields), second);
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
    name: 'whatever-the-status',
    needs: clock,
    alone: true,
    cost: { sends: 6 },
    sends: 'a replay after every change of the status',
    demands: '200 and the original body, which says queued',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      const messageId = String(verify.object(first)['message_id']);
      const interval = Number(t.assumption('pollIntervalSeconds') ?? 20) * 1000;
      let status = 'queued';
      const step = interval / 4;
      for (let passed = step; passed < Math.min(8 * interval, day); passed += step) {
        await t.advance(step);
        const reply = await t.read(account, messageId);
        const current = String(verify.given(() => verify.message(reply, 200))['status']);
        if (current === status) continue;
        status = current;
        replayed(await t.send(account, fields), first);
        t.count();
      }
      if (interval > day / 8 && t.exercised === 0)
        t.lack('a status that changes within 24 hours (pollIntervalSeconds)');
    },
  },
  {
    rule: 'SEND-4',
    name: 'within-24-hours',
    needs: clock,
    alone: true,
    cost: { sends: 5 },
    sends: 'replays after 1, 12, 23 hours and one second before 24 hours',
    demands: '200 and the original body, to the byte',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      let at = 0;
      for (const age of [hour, 12 * hour, 23 * hour + 60_000, day - 1_000]) {
        await t.advance(age - at);
        at = age;
        replayed(await t.send(account, fields), first);
        t.count();
      }
    },
  },
  {
    rule: 'SEND-4',
    name: 'unused-for-nearly-24-hours',
    needs: clock,
    alone: true,
    cost: { sends: 2 },
    sends: 'one replay, one second before 24 hours are over',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      await t.advance(day - 1_000);
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'new-after-24-hours',
    needs: clock,
    alone: true,
    cost: { sends: 3 },
    sends: 'the same request_id after 23 hours, and again one second after 24 hours',
    demands: '200, then a new message: a replay does not prolong the window',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      await t.advance(23 * hour);
      replayed(await t.send(account, fields), first);
      await t.advance(hour + 1_000);
      const again = verify.accepted(await t.send(account, fields));
      const { message_id } = verify.object(first);
      verify.that(again['message_id'] !== message_id, 'a new message_id', String(message_id));
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'send-at-has-passed',
    needs: clock,
    alone: true,
    cost: { sends: 3 },
    sends: 'a replay of a held message after its send_at has passed',
    demands: '200 and the original body: the replay is no new message to validate',
    run: async (t) => {
      if (t.assumption('gateOrder') === 'validate_first')
        t.lack('a target that looks for a replay before it validates (gateOrder)');
      const account = await t.account();
      const send_at = new Date((await t.now()) + hour).toISOString();
      const [fields, first] = await firstOf(t, account, { send_at });
      replayed(await t.send(account, fields), first);
      await t.advance(2 * hour);
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
    name: 'many-later-messages',
    needs: fresh,
    cost: { sends: 111 },
    sends: 'a replay after 100 later messages with request_ids of their own',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const longest = t.assumption('requestIdMaxLength');
      if (typeof longest === 'number' && longest < 6)
        t.lack('a target that takes request_ids of 6 characters');
      const [fields, first] = await firstOf(t, account);
      const later = await flood(100, () => t.send(account, { request_id: t.requestId() }));
      verify.given(() => {
        for (const reply of later) verify.accepted(reply);
      });
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
];
