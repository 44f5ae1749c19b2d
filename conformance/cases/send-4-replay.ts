/**
 * The same `request_id` again. Rule: SEND-4. Other cases observe which permitted reply another body
 * gets (`replayDifferentBody`), another key (`replayScope`) and another endpoint
 * (`replayAcrossEndpoints`).
 */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { wallClock } from '../clock.ts';
import type { Need } from '../target.ts';
import { tasksOf, untilHandedOut } from '../tasks.ts';
import { type AccountPlan, type Fields, paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { patchSim } from './auth-4-sender-numbers.ts';

/** Requires 200 and exactly the bytes of the first reply. */
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

/** A case that replays after an event and still expects 200 and the original body. */
export function replaysAfter(
  name: string,
  { needs = ['fresh'], sends, event, account, happens }: ReplayPlan,
): Case {
  return {
    ...about(`SEND-4/${name}`, needs, { sends }),
    sends: `a replay after ${event}`,
    demands: '200 and the original body, byte for byte',
    run: async (t) => {
      const subject = await t.account(account);
      const [fields, first] = await firstOf(t, subject);
      await happens(t, subject);
      replayed(await t.send(subject, fields), first);
      t.count();
    },
  };
}

interface ReplayPlan {
  readonly needs?: readonly Need[];
  readonly sends: number;
  /** The event, for reports. */
  readonly event: string;
  readonly account?: AccountPlan;
  readonly happens: (t: Trial, account: Subject) => Promise<void>;
}

/** Proves that the event has happened: a new message is refused with this status. */
async function nowRefused(t: Trial, account: Subject, status: number): Promise<void> {
  const reply = await t.send(account);
  verify.given(() => verify.status(reply, status));
}

function simChanged(change: Readonly<Record<string, unknown>>, status: number) {
  return async (t: Trial, account: Subject) => {
    await patchSim(t, account, 0, change);
    await nowRefused(t, account, status);
  };
}

/**
 * Milliseconds between the two sends of a round: simultaneous, and while the first is being
 * answered.
 */
const raceRounds = [0, 0, 1, 3];
const inARound = 8;

/**
 * Sends with one request_id over connections that are already open, so that the requests arrive
 * together.
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
    ...about('SEND-4/replay-is-identical', ['sender'], { sends: 3 }),
    sends: 'the same request_id a second and a third time',
    demands: '200 and a body identical to the original 202 body',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      for (let i = 0; i < 2; i += 1) replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    ...about('SEND-4/another-body-is-no-new-message', ['sender'], { sends: 4 }),
    sends: 'the same request_id with another text, with a send_at, and as at first',
    demands:
      '200 and the original body, or 409 where the body differs (replayDifferentBody); never a new message',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      const send_at = new Date((await t.now()) + 3_600_000).toISOString();
      for (const other of [{ message: 'another text' }, { send_at }]) {
        const reply = await t.send(account, { ...fields, ...other });
        if (reply.status !== 409) replayed(reply, first);
      }
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
  {
    ...about('SEND-4/no-second-message', ['fresh'], { sends: 3 }),
    sends: 'a replay, then the list of messages',
    demands: 'one message exists',
    run: async (t) => {
      const account = await t.account();
      const [fields, first] = await firstOf(t, account);
      for (let i = 0; i < 2; i += 1) replayed(await t.send(account, fields), first);
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
    ...about('SEND-4/fifty-at-once', ['sender'], { sends: 82 }),
    sends:
      '50 sends with one request_id at once, then rounds of eight at once and a few milliseconds apart',
    demands: 'of each request_id exactly one 202, else 200, all bodies equal',
    run: async (t) => {
      await atOnce(t, 50, 0);
      for (const apartMs of raceRounds) await atOnce(t, inARound, apartMs);
      t.count();
    },
    live: {
      needs: ['sender'],
      cost: { sends: raceRounds.length * inARound },
      run: async (t) => {
        for (const apartMs of raceRounds) await atOnce(t, inARound, apartMs);
        t.count();
      },
    },
  },
  replaysAfter('refusals-between-do-not-matter', {
    needs: ['sender'],
    sends: 3,
    event: 'a refused send of another request_id',
    happens: async (t, account) => {
      await t.send(account, { request_id: t.requestId(), message: 'x'.repeat(1601) });
    },
  }),
  replaysAfter('sim-deactivated', {
    sends: 3,
    event: 'the SIM was deactivated',
    happens: simChanged({ active: false }, 503),
  }),
  replaysAfter('number-withdrawn', {
    sends: 3,
    event: 'the account was forbidden to send from the number',
    happens: simChanged({ allowed: false }, 403),
  }),
  replaysAfter('quota-spent', {
    sends: 4,
    event: 'the monthly quota was spent',
    account: { quota: 2 },
    happens: async (t, account) => {
      await t.queued(account);
      await nowRefused(t, account, 402);
    },
  }),
  {
    ...about('SEND-4/spends-no-quota', ['fresh'], { sends: 7 }),
    sends: 'four replays under a quota of two, then a second message',
    demands: 'the replays are 200, the second message is 202: no second message was counted',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const [fields, first] = await firstOf(t, account);
      for (let i = 0; i < 4; i += 1) replayed(await t.send(account, fields), first);
      verify.accepted(await t.send(account));
      await nowRefused(t, account, 402);
      t.count();
    },
  },
];
