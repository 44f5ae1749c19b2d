/**
 * The monthly quota. Rule: ERR-1. Sends messages of one segment to recipients that receive them, so
 * that neither `quotaUnit` nor `quotaRefund` makes a difference.
 */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { patchSim } from './auth-4-sender-numbers.ts';

const day = 86_400_000;

/** Checks that the account has exactly one message for each send answered 202. */
export async function onlyTheAccepted(t: Trial, account: Subject, replies: readonly Reply[]) {
  const count = await t.control.messageCount(account.accountId ?? '');
  if (count === undefined) t.lack('a list of messages on the control port');
  verify.equal('messages of the account', count, howMany(replies, 202));
  t.count();
}

function howMany(replies: readonly Reply[], status: number): number {
  return replies.filter((reply) => reply.status === status).length;
}

function exceeded(reply: Parameters<typeof verify.refused>[0]): void {
  verify.refused(reply, 402, 'quota_exceeded');
}

/** An account whose quota is spent. */
async function exhausted(t: Trial): Promise<Subject> {
  const { exhaustedApiKey: key, exhaustedFrom, from } = t.target.flags;
  if (key !== undefined && !t.controlled)
    return { key, from: exhaustedFrom ?? from ?? '', sims: [] };
  const account = await t.account({ quota: 1 });
  verify.accepted(await t.send(account));
  return account;
}

export const err1QuotaCases: readonly Case[] = [
  {
    ...about('ERR-1/exhausted-account', ['sender', 'exhausted-key'], { sends: 2 }),
    sends: 'a message by an account whose quota is spent, and by one whose is not',
    demands: '402 with code quota_exceeded; 202',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      const spent = await exhausted(t);
      const reply = await t.send(spent);
      if (reply.status === 403 && !t.controlled && t.target.flags.exhaustedFrom === undefined)
        t.lack('--exhausted-from, as that account may not send from --from');
      exceeded(reply);
      t.count();
    },
  },
  {
    ...about('ERR-1/exactly-the-quota', ['fresh'], { sends: 7 }),
    sends: 'messages up to a quota of five and one more',
    demands: 'five times 202, then 402 with code quota_exceeded',
    run: async (t) => {
      const account = await t.account({ quota: 5 });
      for (let i = 0; i < 5; i += 1) verify.accepted(await t.send(account));
      for (let i = 0; i < 2; i += 1) exceeded(await t.send(account));
      t.count();
    },
  },
  {
    ...about('ERR-1/of-the-account', ['fresh'], { sends: 5 }),
    sends: 'messages from two SIMs and with two keys of one account, under a quota of two',
    demands: 'two times 202, then 402; another account is not affected',
    run: async (t) => {
      const account = await t.account({ sims: 2, quota: 2 });
      const second = await t.secondKey(account);
      verify.accepted(await t.send(account));
      const from = account.sims[1]?.number;
      verify.accepted(await t.send({ ...account, key: second.key }, { from }));
      exceeded(await t.send({ ...account, key: second.key }));
      exceeded(await t.send(account, { from }));
      const other = await t.account({ quota: 2 });
      verify.accepted(await t.send(other));
      t.count();
    },
  },
  {
    ...about('ERR-1/refusals-do-not-count', ['fresh'], { sends: 11 }),
    sends: 'refused messages (400, 403, 503) under a quota of two, then valid ones',
    demands: 'two times 202, then 402',
    run: async (t) => {
      const account = await t.account({ sims: 2, quota: 2 });
      const inactive = account.sims[1];
      await patchSim(t, account, 1, { active: false });
      for (let i = 0; i < 2; i += 1) {
        verify.status(await t.send(account, { message: 'x'.repeat(1601) }), 400);
        verify.status(await t.send(account, { from: t.control.unusedNumber() }), 403);
        verify.status(await t.send(account, { from: inactive?.number }), 503);
      }
      verify.accepted(await t.send(account));
      verify.accepted(await t.send(account));
      exceeded(await t.send(account));
      t.count();
    },
  },
  {
    ...about('ERR-1/reads-go-on', ['fresh'], { sends: 2 }),
    sends: 'a read after the quota was spent',
    demands: '200',
    run: async (t) => {
      const account = await t.account({ quota: 1 });
      const { messageId } = await t.queued(account);
      exceeded(await t.send(account));
      verify.message(await t.read(account, messageId), 200);
      t.count();
    },
  },
  {
    ...about('ERR-1/monthly', ['fresh', 'clock'], { sends: 6 }),
    alone: true,
    sends:
      'messages under a quota of one: on the 2nd of a month, on the 3rd, the 9th and the 27th, in the next month',
    demands: '202, then 402 within the month, 202 after any kind of month is over',
    run: async (t) => {
      const account = await t.account({ quota: 1 });
      const now = new Date(await t.now());
      const second = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2, 0, 0, 10);
      await t.control.advanceTo(second);
      verify.accepted(await t.send(account));
      for (const days of [1, 7, 25]) {
        await t.control.advanceTo(second + days * day);
        exceeded(await t.send(account));
      }
      // This is later than the end of the calendar month and later than 30 days.
      await t.control.advanceTo(second + 36 * day);
      verify.accepted(await t.send(account));
      exceeded(await t.send(account));
      t.count();
    },
  },
  {
    ...about('ERR-1/exceeding-is-not-queued', ['fresh'], { sends: 4 }),
    sends: 'four messages under a quota of two, then the list of messages',
    demands: 'two messages exist',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const replies = await flood(4, () => t.send(account));
      verify.given(() => verify.equal('402s', howMany(replies, 402), 2));
      await onlyTheAccepted(t, account, replies);
    },
    live: {
      needs: ['sender', 'exhausted-key'],
      cost: { sends: 2 },
      run: async (t) => {
        const account = await exhausted(t);
        const fields = { request_id: t.requestId() };
        exceeded(await t.send(account, fields));
        const again = await t.send(account, fields);
        verify.that(again.status !== 200, 'no replay of a send that was answered 402', again);
        t.count();
      },
    },
  },
  {
    ...about('ERR-1/held-counts-once', ['fresh'], { sends: 3 }),
    sends: 'a held message and two others under a quota of two',
    demands: '202, 202, then 402',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const send_at = new Date((await t.now()) + 3_600_000).toISOString();
      verify.accepted(await t.send(account, { send_at }));
      verify.accepted(await t.send(account));
      exceeded(await t.send(account));
      t.count();
    },
  },
  {
    ...about('ERR-1/many-at-once', ['fresh'], { sends: 30 }),
    sends: '30 messages at once under a quota of five',
    demands: 'five times 202, 25 times 402',
    run: async (t) => {
      const account = await t.account({ quota: 5 });
      const replies = await Promise.all(Array.from({ length: 30 }, () => t.send(account)));
      verify.equal('messages that passed', howMany(replies, 202), 5);
      verify.equal('402s', howMany(replies, 402), 25);
      t.count();
    },
  },
];
