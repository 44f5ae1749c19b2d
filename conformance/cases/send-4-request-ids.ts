/**
 * What is, and what is not, the same request_id; a replay when the number was withdrawn. Rules: SEND-4.
 */
import type { Case } from '../case.ts';
import type { Fields, Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** Two ids that are nearly one make two messages, and each replays its own. */
async function twoMessages(t: Trial, account: Subject, ids: readonly [string, string]) {
  const [one, two]: [Fields, Fields] = [{ request_id: ids[0] }, { request_id: ids[1] }];
  const first = await t.send(account, one);
  verify.given(() => verify.accepted(first));
  const second = await t.send(account, two);
  verify.accepted(second);
  for (const [fields, original] of [
    [one, first],
    [two, second],
  ] as const) {
    const reply = await t.send(account, fields);
    verify.status(reply, 200);
    verify.that(reply.bytes.equals(original.bytes), `the body ${original.text}`, reply);
  }
  t.count();
}

export const moreReplayCases: readonly Case[] = [
  {
    rule: 'SEND-4',
    name: 'letter-case-tells-ids-apart',
    needs: ['sender'],
    cost: { sends: 4 },
    sends: 'two request_ids that differ in letter case alone, each twice',
    demands: '202 for both, two messages; each replays its own',
    run: async (t) => {
      const account = await t.account();
      const id = t.controlled ? '' : t.requestId();
      await twoMessages(t, account, [`${id}q`, `${id}Q`]);
    },
  },
  {
    rule: 'SEND-4',
    name: 'last-letter-tells-ids-apart',
    needs: ['sender'],
    cost: { sends: 4 },
    sends: 'two request_ids of 64 characters that differ in the last alone, each twice',
    demands: '202 for both, two messages; each replays its own',
    run: async (t) => {
      const account = await t.account();
      const told = t.assumption('requestIdMaxLength');
      const length = Math.min(64, typeof told === 'number' ? told : 64);
      const id = t
        .requestId()
        .padEnd(length - 1, 'p')
        .slice(0, length - 1);
      await twoMessages(t, account, [`${id}1`, `${id}2`]);
    },
  },
  {
    rule: 'SEND-4',
    name: 'ids-of-any-script',
    needs: ['sender'],
    cost: { sends: 2 },
    sends: 'a request_id with letters of other scripts and an emoji, twice',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: `${t.controlled ? '' : t.requestId()}Жé短😀` };
      const told = t.assumption('requestIdMaxLength');
      if (typeof told === 'number' && told < 4)
        t.lack('a target that takes request_ids of 4 characters (requestIdMaxLength)');
      const { reply: first } = await t.queued(account, fields);
      const reply = await t.send(account, fields);
      verify.status(reply, 200);
      verify.that(reply.bytes.equals(first.bytes), `the original body ${first.text}`, reply);
      t.count();
    },
  },
  {
    rule: 'SEND-4',
    name: 'held-message-after-24-hours',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: 2 },
    sends: 'a message held for 30 hours, and its request_id again one second after 24 hours',
    demands: 'a new message: the 24 hours begin with the first use, not with send_at',
    run: async (t) => {
      const most = t.assumption('sendAtMaxAheadDays');
      if (typeof most === 'number' && most < 2)
        t.lack('a target that takes a send_at 30 hours ahead (sendAtMaxAheadDays)');
      const account = await t.account();
      const send_at = new Date((await t.now()) + 30 * 3_600_000).toISOString();
      const fields = { request_id: t.requestId(), send_at };
      const { messageId } = await t.queued(account, fields);
      await t.advance(24 * 3_600_000 + 1_000);
      const again = verify.accepted(await t.send(account, fields));
      verify.that(again['message_id'] !== messageId, 'a new message_id', messageId);
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
