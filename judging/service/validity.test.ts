/**
 * Compares what judges say of a body's fields with what the twin does under each answer: a body
 * that it accepts is not invalid, and one that it refuses is not valid.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { named } from '#verify/testkit/assumption-mixtures.ts';
import {
  answersAboutBodies,
  assumptionsAboutBodies,
  bodies,
  bodiesBeyondSchemas,
  bodyOf,
} from '#verify/testkit/send-bodies.ts';
import { type Fields, Twin } from '#verify/testkit/twin/twin.ts';
import { ClockOffset, unknownOffset } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';
import type { Reply } from '../evidence/reply.ts';
import { validityOf } from './validity.ts';

type Answers = (typeof answersAboutBodies)[number];

const all = [...bodies, ...bodiesBeyondSchemas];

/** Assumptions that no status shows: the field that a 400 names, and ids in paths. */
const notOfBodies = ['validationScope', 'pathIdForm'];

/** Shorter than any column for an id, so that judges call longer ids valid. */
const tooShort = { requestIdMaxLength: 2 };

/** The status of a send of each body under these answers, with the time of the sends. */
function statusesUnder(assumptions: Answers): {
  readonly nowMs: number;
  readonly statuses: readonly number[];
} {
  const twin = new Twin({ assumptions, noLimits: true });
  const statuses = all.map((each) => twin.post('/api/v1/sms/send/', bodyOf(each)).status);
  return { nowMs: twin.now(), statuses };
}

const judged = answersAboutBodies.filter((each) => !isDeepStrictEqual(each, tooShort));

test.each([{}, ...judged].map((each) => [named(each), each] as const))(
  'judges call no body invalid that is accepted, and none valid that is refused, under %s',
  (_, assumptions) => {
    const { nowMs, statuses } = statusesUnder(assumptions);
    for (const [index, status] of statuses.entries()) {
      const fields = bodyOf(all[index] ?? {}) as Fields;
      const sent = { fields, sentAt: nowMs, answeredAt: nowMs } as unknown as Exchange;
      const { invalid, open } = validityOf(sent, { hasExactTimes: true });
      const isWrong = status === 202 ? invalid.length > 0 : invalid.length + open.length === 0;
      const verdict = isWrong ? `judging/service/validity.ts is wrong about ${status}` : 'right';
      const row = JSON.stringify(fields).slice(0, 200);
      expect([row, verdict]).toEqual([row, 'right']);
    }
  },
);

test.each(assumptionsAboutBodies.filter((name) => !notOfBodies.includes(name)))(
  'some body shows each answer of %s',
  (name) => {
    const rows = [{}, ...answersAboutBodies.filter((row) => name in row)];
    const seen = rows.map((row) => statusesUnder(row).statuses.join());
    const alike = rows.filter((_, index) => seen.indexOf(seen[index] ?? '') !== index);
    expect(alike, 'add a body to verify/testkit/send-bodies.ts that shows the answer').toEqual([]);
  },
);

test('SEND-7 a new message without a Date shows the clock, if its time is near ours', () => {
  const aheadAfter = (offsetMs: number) => {
    const clock = new ClockOffset({ needsDate: true });
    const json = { created_at: new Date(1_000_000 + offsetMs).toISOString() };
    const times = { sentAt: 1_000_000, answeredAt: 1_000_010 };
    clock.note({ status: 202, json, headers: {}, ...times } as unknown as Reply);
    return clock.ahead;
  };
  expect(aheadAfter(-40_000)).toEqual({ least: -40_510, most: -39_500 });
  expect(aheadAfter(-3_600_000)).toBe(unknownOffset);
});

test('SEND-7 a new message shows the clock of a service behind a gateway with another one', () => {
  const clock = new ClockOffset({ needsDate: true });
  const sentAt = Date.parse('2026-11-01T00:00:00Z');
  const headers = { date: new Date(sentAt).toUTCString() };
  const json = { created_at: new Date(sentAt + 40_000).toISOString() };
  clock.note({ status: 202, json, headers, sentAt, answeredAt: sentAt + 10 } as unknown as Reply);
  expect(clock.ahead).toEqual({ least: -510, most: 40_500 });
});

test.each([
  ['+12040-01-01T00:00:00Z', 'open'],
  ['+002040-01-01T00:00:00Z', 'open'],
  ['+002020-01-01T00:00:00Z', 'invalid'],
  ['-002040-01-01T00:00:00Z', 'invalid'],
  ['+12040-02-30T00:00:00Z', 'invalid'],
] as const)('SEND-7 a service may read the expanded year of %s: %s', (sendAt, expected) => {
  const sentAt = Date.parse('2026-11-01T00:00:00Z');
  const sent = { fields: { send_at: sendAt }, sentAt, answeredAt: sentAt } as unknown as Exchange;
  expect(validityOf(sent, { hasExactTimes: true })[expected]).toContain('send_at');
});
