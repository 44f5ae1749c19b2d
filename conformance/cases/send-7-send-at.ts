/**
 * `send_at`: what it must be, and how it holds a message back. Rules: SEND-7, STATE-1.
 * While the hold lasts a read may show `queued` or a name of the service's own (`heldStatus`).
 */
import type { Case } from '../case.ts';
import { pollIntervalMs } from '../recorded-lives.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const minute = 60_000;
const gone = ['sending', 'sent', 'delivered', 'failed'];

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

async function statusOf(t: Trial, account: Subject, messageId: string): Promise<string> {
  return String(verify.message(await t.read(account, messageId), 200)['status']);
}

export async function holds(t: Trial, delayMs: number): Promise<void> {
  const account = await t.account();
  const now = await t.now();
  const body = verify.accepted(await t.send(account, { send_at: iso(now + delayMs) }));
  verify.equal('status of the 202', body['status'], 'queued');
  const messageId = String(body['message_id']);
  let passed = 0;
  for (const share of [0.1, 0.35, 0.6, 0.9, 0.99]) {
    await t.advance(delayMs * share - passed);
    passed = delayMs * share;
    const status = await statusOf(t, account, messageId);
    verify.that(!gone.includes(status), `held for ${delayMs / 1000} s`, `${status} before`);
  }
  await t.advance(delayMs - passed);
  const step = pollIntervalMs(t) / 4;
  for (let i = 0; i < 6; i += 1) {
    await t.advance(step);
    if (gone.includes(await statusOf(t, account, messageId))) return t.count();
  }
  t.fail('pickup within about one poll of send_at', await statusOf(t, account, messageId));
}

const needs = ['sender'] as const;
const clock = ['fresh', 'clock'] as const;

export const holdingCases: readonly Case[] = [
  {
    rule: 'SEND-7',
    name: 'past-is-refused',
    needs,
    cost: { sends: 4 },
    sends: 'a send_at of a year, a day and an hour ago',
    demands: '400 that names `send_at`; in one hour is accepted',
    run: async (t) => {
      const account = await t.account();
      const now = await t.now();
      verify.accepted(await t.send(account, { send_at: iso(now + 60 * minute) }));
      for (const hours of [365 * 24, 24, 1])
        verify.invalid(
          await t.send(account, { send_at: iso(now - hours * 60 * minute) }),
          'send_at',
        );
      t.count();
    },
  },
  {
    rule: 'SEND-7',
    name: 'now-is-not-the-future',
    needs: clock,
    alone: true,
    cost: { sends: 3 },
    sends: 'a send_at of exactly now, of one millisecond ago, of one second ahead',
    demands: '400, 400, 202',
    run: async (t) => {
      const account = await t.account();
      const now = await t.now();
      verify.invalid(await t.send(account, { send_at: iso(now) }), 'send_at');
      verify.invalid(await t.send(account, { send_at: iso(now - 1) }), 'send_at');
      verify.accepted(await t.send(account, { send_at: iso(now + 1_000) }));
      t.count();
    },
  },
  {
    rule: 'SEND-7',
    name: 'whole-seconds-are-iso-too',
    needs,
    cost: { sends: 2 },
    sends: 'a send_at without a fraction, with Z and with +00:00',
    demands: '202 for both',
    run: async (t) => {
      const account = await t.account();
      const ahead = iso((await t.now()) + 60 * minute).slice(0, 19);
      verify.accepted(await t.send(account, { send_at: `${ahead}Z` }));
      verify.accepted(await t.send(account, { send_at: `${ahead}+00:00` }));
      t.count();
    },
  },
  {
    rule: 'SEND-7',
    name: 'offset-is-not-dropped',
    needs,
    cost: { sends: 2 },
    sends: 'a send_at that is past, written with an offset so that its digits look like the future',
    demands: '400 that names `send_at`: it is no UTC, and it is past',
    run: async (t) => {
      const account = await t.account();
      const now = await t.now();
      verify.accepted(await t.send(account, { send_at: iso(now + 60 * minute) }));
      const digits = iso(now + 120 * minute).slice(0, 19);
      verify.invalid(await t.send(account, { send_at: `${digits}+05:00` }), 'send_at');
      t.count();
    },
  },
  {
    rule: 'SEND-7',
    name: 'not-a-time',
    needs,
    cost: { sends: 4 },
    sends: 'texts that are no ISO 8601 time',
    demands: '400 that names `send_at`',
    run: async (t) => {
      const account = await t.account();
      verify.accepted(await t.send(account));
      for (const send_at of ['soon', '12:30', '2040-02-31T00:00:00.000Z'])
        verify.invalid(await t.send(account, { send_at }), 'send_at');
      t.count();
    },
  },
  {
    rule: 'SEND-7',
    name: 'holds-ten-minutes',
    needs: clock,
    alone: true,
    cost: { sends: 1 },
    sends: 'a send_at ten minutes ahead',
    demands: 'held until then, picked up within about one poll of it',
    run: (t) => holds(t, 10 * minute),
  },
  {
    rule: 'SEND-7',
    name: 'holds-twelve-hours',
    needs: clock,
    alone: true,
    cost: { sends: 1 },
    sends: 'a send_at twelve hours ahead',
    demands: 'held until then, picked up within about one poll of it',
    run: (t) => holds(t, 12 * 60 * minute),
  },
  {
    rule: 'SEND-7',
    name: 'absent-is-immediate',
    needs: clock,
    alone: true,
    cost: { sends: 1 },
    sends: 'a message without send_at',
    demands: 'picked up within about one poll',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      for (let i = 0; i < 6; i += 1) {
        await t.advance(pollIntervalMs(t) / 4);
        if ((await statusOf(t, account, messageId)) !== 'queued') return t.count();
      }
      t.fail('pickup within about one poll', 'still queued');
    },
  },
  {
    rule: 'SEND-7',
    name: 'held-is-not-sent-early',
    needs,
    alone: true,
    cost: { sends: 1, waits: 3 },
    sends: 'a send_at one hour ahead, and reads of it for three seconds',
    demands: 'neither sending nor any later state',
    run: async (t) => {
      const account = await t.account();
      const body = verify.accepted(
        await t.send(account, { send_at: iso((await t.now()) + 60 * minute) }),
      );
      for (let i = 0; i < 3; i += 1) {
        await t.advance(1_000);
        const status = await statusOf(t, account, String(body['message_id']));
        verify.that(!gone.includes(status), 'held', status);
      }
      t.count();
    },
  },
];
