/**
 * The same request under the same `request_id` again. Rule: SEND-4. Another body
 * (`replayDifferentBody`), another key (`replayScope`) and another endpoint
 * (`replayAcrossEndpoints`) are observed.
 */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { wallClock } from '../clock.ts';
import { tasksOf, untilHandedOut } from '../tasks.ts';
import { type Fields, paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** 200, and the very bytes of the first reply. */
export function replayed(reply: Reply, first: Reply): void {
  verify.status(reply, 200);
  verify.identical(reply, first, 'the original 202 body');
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

/**
 * Milliseconds between two sends of a round: together, and while the first is about to be answered.
 */
const raceRounds = [0, 0, 1, 3];
const inARound = 8;

/**
 * Sends with one request_id, on connections that are open already, so that they arrive as they
 * leave.
 */
async function atOnce(t: Trial, times: number, apartMs: number): Promise<void> {
  const account = await t.account();
  const fields = { request_id: t.requestId() };
  await Promise.all(Array.from({ length: times }, () => t.get(paths.stats, account.key)));
  const replies = await Promise.all(
    Array.from({ length: times }, async (_, i) => {
      if (apartMs > 0) await wallClock.sleep(i * apartMs);
      return t.send(account, fields);
    }),
  );
  const created = replies.filter((reply) => reply.status === 202);
  verify.equal('202s', created.length, 1);
  const [first] = created;
  for (const reply of replies) if (first !== undefined && reply !== first) replayed(reply, first);
  if (!t.controlled) return;
  const count = await t.control.messageCount(account.accountId ?? '');
  if (count !== undefined) verify.equal('messages of the account', count, 1);
}

export const send4ReplayCases: readonly Case[] = [
  {
    ...about('SEND-4/replay-is-identical', needs, { sends: 3 }),
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
    ...about('SEND-4/no-second-message', fresh, { sends: 3 }),
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
    live: {
      needs: ['sender', 'device'],
      cost: { sends: 3 },
      spends: { send: 3, tasks: 1 },
      run: (t) =>
        untilHandedOut(t, async (account, text) => {
          const [fields, first] = await firstOf(t, account, { message: text });
          for (let i = 0; i < 2; i += 1) replayed(await t.send(account, fields), first);
          const tasks = await tasksOf(t, account);
          const times = tasks.text.split(text).length - 1;
          verify.that(times <= 1, 'one task for the message', tasks);
          return times === 1 ? undefined : String(verify.object(first)['message_id']);
        }),
    },
  },
  {
    ...about('SEND-4/fifty-at-once', needs, { sends: 82 }),
    sends:
      '50 sends with one request_id at once, then rounds of eight at once and a few milliseconds apart',
    demands: 'of each request_id exactly one 202, else 200, all bodies equal',
    run: async (t) => {
      await atOnce(t, 50, 0);
      for (const apartMs of raceRounds) await atOnce(t, inARound, apartMs);
      t.count();
    },
    live: {
      needs,
      cost: { sends: raceRounds.length * inARound },
      run: async (t) => {
        for (const apartMs of raceRounds) await atOnce(t, inARound, apartMs);
        t.count();
      },
    },
  },
  {
    ...about('SEND-4/refusals-between-do-not-matter', needs, { sends: 3 }),
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
    ...about('SEND-4/sim-deactivated', fresh, { sends: 3 }),
    sends: 'a replay after the SIM was deactivated',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      await t.control.must('sims.patch', {
        id: account.sims[0]?.deviceId,
        input: { active: false },
      });
      const fresh = await t.send(account);
      verify.given(() => verify.status(fresh, 503));
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    ...about('SEND-4/quota-spent', fresh, { sends: 4 }),
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
    ...about('SEND-4/spends-no-quota', fresh, { sends: 7 }),
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
    ...about('SEND-4/number-withdrawn', ['fresh'], { sends: 3 }),
    sends: 'a replay after the account was forbidden to send from the number',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: t.requestId() };
      const { reply: first } = await t.queued(account, fields);
      const deviceId = account.sims[0]?.deviceId;
      await t.control.must('sims.patch', { id: deviceId, input: { allowed: false } });
      const fresh = await t.send(account);
      verify.given(() => verify.status(fresh, 403));
      const reply = await t.send(account, fields);
      verify.status(reply, 200);
      verify.identical(reply, first, 'the original 202 body');
      t.count();
    },
  },
];
