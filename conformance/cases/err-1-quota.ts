/**
 * Cases about the monthly quota. Rule: ERR-1. They send messages of one segment to a recipient
 * whose messages are delivered, so that neither `quotaUnit` nor `quotaRefund` makes a difference.
 */
import { dayMs, hourMs, isoTime, minuteMs } from '#contract/time.ts';
import { flood } from '../floods/limited-requests.ts';
import { about, type Case } from '../run/case.ts';
import { type AccountUnderTest, paths, type Trial, unknownId } from '../run/trial.ts';
import { eachWay, sendEachWay } from './senders.ts';
import { tooLongMessage } from './similar-values.ts';

/** An account whose quota is spent: the one that the flags name, otherwise a new one. */
async function exhaustedAccount(t: Trial): Promise<AccountUnderTest> {
  const given = t.hasControl ? undefined : await t.exhaustedAccount(t.target.flags.from);
  if (given !== undefined) return given;
  const account = await t.account({ quota: 1 });
  await t.mustSend(account);
  return account;
}

async function sendRepeatedly(t: Trial, account: AccountUnderTest, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await t.send(account);
}

export const err1QuotaCases: readonly Case[] = [
  about('ERR-1/exhausted-account', ['sender', 'exhausted-key'], 5, {
    spends: { dashboard_send: 1, external_send: 1, received: 1 },
    sends: `a message by an account whose quota is spent, ${eachWay}, and by one whose is not; a read, statistics and the list of received messages`,
    demands: '402 with code quota_exceeded; 202; no 402 for anything but a send',
    steps: async (t, account) => {
      await t.mustSend(account);
      const spent = await exhaustedAccount(t);
      await sendEachWay(t, spent, spent.from);
      for (const path of [paths.read(unknownId), paths.stats, paths.received])
        await t.get(path, spent.key);
    },
  }),
  about('ERR-1/exactly-the-quota', ['fresh'], 7, {
    sends: 'messages up to a quota of five and two more',
    demands: 'five times 202, then 402 with code quota_exceeded',
    account: { quota: 5 },
    // The second refusal shows that the first one stays in force.
    steps: (t, account) => sendRepeatedly(t, account, 7),
  }),
  about('ERR-1/of-the-account', ['fresh'], 5, {
    sends: 'messages from two SIMs and with two keys of one account, under a quota of two',
    demands: 'two times 202, then 402; another account is not affected',
    account: { sims: 2, quota: 2 },
    steps: async (t, account) => {
      const withOtherKey = { ...account, key: (await t.secondKey(account)).key };
      const from = account.sims[1]?.number;
      await t.send(account);
      await t.send(withOtherKey, { from });
      await t.send(withOtherKey);
      await t.send(account, { from });
      await t.send(await t.account({ quota: 2 }));
    },
  }),
  about('ERR-1/refusals-do-not-count', ['fresh'], 9, {
    sends: 'refused messages (400, 403, 503) under a quota of two, then valid ones',
    demands: 'two times 202, then 402',
    account: { sims: 2, quota: 2 },
    steps: async (t, account) => {
      await t.patchSim(account, 1, { active: false });
      for (let i = 0; i < 2; i += 1) {
        await t.send(account, { message: tooLongMessage });
        await t.send(account, { from: t.unusedNumber() });
        await t.send(account, { from: account.sims[1]?.number });
      }
      await sendRepeatedly(t, account, 3);
    },
  }),
  about('ERR-1/reads-go-on', ['fresh'], 2, {
    also: ['READ-1'],
    sends: 'a read after the quota was spent',
    demands: '200',
    account: { quota: 1 },
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      await t.send(account);
      await t.read(account, messageId);
    },
  }),
  about('ERR-1/monthly', ['fresh', 'clock'], 6, {
    sends:
      'messages under a quota of one: on the 2nd of a month, on the 3rd, the 9th and the 27th, in the next month',
    demands: '202, then 402 for the rest of the month, and 202 in the next one',
    account: { quota: 1 },
    steps: async (t, account) => {
      const now = new Date(t.now());
      const secondDayMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2, 0, 0, 10);
      // The last is later than the end of the calendar month and later than 30 days.
      for (const days of [0, 1, 7, 25, 36]) {
        await t.control.advanceTo(secondDayMs + days * dayMs);
        await t.send(account);
      }
      // Shows that the quota of the next month is one message too.
      await t.send(account);
    },
  }),
  about('ERR-1/exceeding-is-not-queued', ['sender', 'exhausted-sender'], 2, {
    sends:
      'a message beyond the quota, held for ten minutes, twice under one request_id; then the list of messages',
    demands: '402, no replay, and no message',
    steps: async (t) => {
      const account = await exhaustedAccount(t);
      const send_at = isoTime(t.now() + 10 * minuteMs);
      const fields = { request_id: t.requestId(), send_at };
      for (let i = 0; i < 2; i += 1) await t.send(account, fields);
      await t.noteMessageCount(account);
    },
  }),
  about('ERR-1/held-counts-once', ['fresh'], 3, {
    sends: 'a held message and two others under a quota of two',
    demands: '202, 202, then 402',
    account: { quota: 2 },
    steps: async (t, account) => {
      await t.send(account, { send_at: isoTime(t.now() + hourMs) });
      await sendRepeatedly(t, account, 2);
    },
  }),
  about('ERR-1/many-at-once', ['fresh'], 30, {
    sends: '30 messages at once under a quota of five',
    demands: 'five times 202, 25 times 402',
    account: { quota: 5 },
    steps: (t, account) => flood(30, () => t.send(account)),
  }),
];
