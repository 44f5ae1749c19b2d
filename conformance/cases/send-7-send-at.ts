/**
 * Which values of `send_at` are accepted. Rule: SEND-7. Sends only values that every answer of
 * `sendAtZone` handles alike.
 */
import { about, type Case } from '../case.ts';
import * as verify from '../verify.ts';

const minute = 60_000;
const clocksDifferMs = 15_000;

export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

const needs = ['sender'] as const;
const clock = ['fresh', 'clock'] as const;

export const send7SendAtCases: readonly Case[] = [
  {
    ...about('SEND-7/past-is-refused', needs, { sends: 5 }),
    sends: 'a send_at of a year, a day, an hour and some seconds ago',
    demands: '400 that names `send_at`; in one hour is accepted',
    run: async (t) => {
      const account = await t.account();
      const now = await t.now();
      const ahead = verify.accepted(await t.send(account, { send_at: iso(now + 60 * minute) }));
      // By the target's own clock, with room for a cluster whose clocks differ.
      const created = Date.parse(String(ahead['created_at']));
      const justPast = Math.min(Number.isNaN(created) ? now : created, now) - clocksDifferMs;
      verify.invalid(await t.send(account, { send_at: iso(justPast) }), 'send_at');
      for (const hours of [365 * 24, 24, 1])
        verify.invalid(
          await t.send(account, { send_at: iso(now - hours * 60 * minute) }),
          'send_at',
        );
      t.count();
    },
  },
  {
    ...about('SEND-7/now-is-not-the-future', clock, { sends: 3 }),
    alone: true,
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
    ...about('SEND-7/whole-seconds-are-iso-too', needs, { sends: 2 }),
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
    ...about('SEND-7/offset-is-not-dropped', needs, { sends: 2 }),
    sends: 'a send_at that is past, written with an offset so that its digits look like the future',
    demands: '400 that names `send_at`: it is not UTC, and it is past',
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
    ...about('SEND-7/not-a-time', needs, { sends: 4 }),
    sends: 'texts that are not ISO 8601 times',
    demands: '400 that names `send_at`',
    run: async (t) => {
      const account = await t.account();
      verify.accepted(await t.send(account));
      for (const send_at of ['soon', '12:30', '2040-02-31T00:00:00.000Z'])
        verify.invalid(await t.send(account, { send_at }), 'send_at');
      t.count();
    },
  },
];
