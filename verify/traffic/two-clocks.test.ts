/**
 * Recorders whose clocks differ: what only the order of their dates says fails no rule, of a service
 * or of a client. What one clock shows, or the service's own times, is still judged.
 */
import { expect, test } from 'vitest';
import type { TrafficExchange } from '#contract/exchange.ts';
import { isoTime } from '#contract/time.ts';
import { judge as judgeClient } from '#judging/client/judge.ts';
import { exchangesOfTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { judge } from './judge.ts';

const start = Date.parse('2026-02-03T10:00:00.000Z');
const id = '11111111-1111-4111-8111-111111111111';
const headers = { authorization: 'Bearer key:0123456789ab', 'content-type': 'application/json' };

/** A recorder whose clock is ahead of the service's. */
interface Recorder {
  readonly clock: string;
  readonly aheadMs: number;
  /** True if replies have the service's `Date`. */
  readonly isDated: boolean;
}

function recorder(clock: string, aheadSeconds: number, isDated = true): Recorder {
  return { clock, aheadMs: aheadSeconds * 1_000, isDated };
}

function message(status: string): string {
  const [from, to] = ['+12025550101', '+12125550150'];
  const device = '33333333-3333-4333-8333-333333333333';
  const created = '2026-02-03T10:00:00.010Z';
  const ids = { message_id: id, request_id: 'order-1', device_id: device };
  return JSON.stringify({ status, ...ids, from_number: from, to, created_at: created });
}

/** What the recorder wrote down of an exchange at this second of the service's clock. */
function seenBy(
  { clock, aheadMs, isDated }: Recorder,
  second: number,
  { status = 200, body = '{}', wait, ...asked }: Seen,
): TrafficExchange {
  const at = start + second * 1_000;
  const sentAt = at + aheadMs;
  const date = isDated ? { date: new Date(at).toUTCString() } : {};
  const waits = wait === undefined ? {} : { 'retry-after': String(wait) };
  const type = { 'content-type': 'application/json' };
  return {
    ...{ sentAt, answeredAt: sentAt + 20, clock, precisionMs: 0, host: '', query: '', headers },
    ...{ method: 'GET', path: `/api/v1/sms/${id}/`, showsCredential: true, body: '' },
    ...{ isForced: false, isSeen: true, ...asked },
    reply: { status, body, headers: { ...type, ...date, ...waits } },
  };
}

interface Seen extends Partial<Omit<TrafficExchange, 'body'>> {
  readonly status?: number;
  readonly body?: string;
  readonly wait?: number;
}

const shows = (status: string): Seen => ({ body: message(status) });

function failed(exchanges: readonly TrafficExchange[], isComplete = false) {
  return judge(inOrder(exchanges), { isComplete }).failed;
}

function inOrder(exchanges: readonly TrafficExchange[]) {
  return exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
}

/** A message that one recorder saw being sent before the other saw it delivered. */
function readBy(one: Recorder, other: Recorder) {
  return [
    seenBy(one, 10, shows('sending')),
    seenBy(one, 20, shows('sent')),
    seenBy(other, 22, shows('delivered')),
  ];
}

test.each([
  ['one minute', 60, true],
  ['one minute, and no reply says the time', 60, false],
  ['two seconds', 2.5, true],
  ['half an hour', 1_800, true],
])('reads of two recorders whose clocks are %s apart do not revisit a status', (_, by, isDated) => {
  const [one, other] = [recorder('one', by, isDated), recorder('other', 0, isDated)];
  expect(failed(readBy(one, other))).toEqual([]);
  expect(failed(readBy({ ...one, clock: 'other' }, other))).toEqual(['STATE-3', 'STATE-5']);
});

test('a status that is revisited is seen by one clock, or by two that the service compares', () => {
  const [one, other] = [recorder('one', 90), recorder('other', 0)];
  const late = (by: Recorder) => [...readBy(one, other), seenBy(by, 40, shows('sending'))];
  expect(failed(late(other))).toEqual(['STATE-3', 'STATE-5']);
  expect(failed(late(one))).toEqual(['STATE-3', 'STATE-5']);
  const undated = recorder('one', 90, false);
  expect(failed([...readBy(undated, other), seenBy(undated, 40, shows('sending'))])).toEqual([
    'STATE-3',
  ]);
  expect(failed([...readBy(undated, other).slice(2), seenBy(undated, 40, shows('sent'))])).toEqual(
    [],
  );
});

/** Polls of received messages, two a second: 119 pass, and then all are refused. */
function flood(of: (nth: number) => Recorder) {
  const path = '/api/v1/sms/received/';
  return Array.from({ length: 140 }, (_, nth) => {
    const refused: Seen = { path, status: 429, wait: 30 - Math.floor((nth - 120) / 4) };
    return seenBy(of(nth), 200 + nth / 4, nth < 120 ? { path, body: '[]' } : refused);
  });
}

test.each([
  [30, true, 'passed'],
  [-30, true, 'passed'],
  [600, true, 'not exercised'],
  [30, false, 'not exercised'],
])('a limit that two recorders saw, %d s apart (dated: %s), is %s', (by, isDated, verdict) => {
  const [one, other] = [recorder('one', 0, isDated), recorder('other', by, isDated)];
  const early = [one, other].map((each) => seenBy(each, 0, shows('sending')));
  const polls = flood((nth) => (nth % 3 === 0 ? other : one));
  const { failed: broken, passed } = judge(inOrder([...early, ...polls]), { isComplete: true });
  expect(broken.filter((rule) => rule.startsWith('LIMIT'))).toEqual([]);
  expect(passed.includes('LIMIT-4')).toBe(verdict === 'passed');
});

test('a limit that one recorder saw exceeded fails although another clock is there', () => {
  const path = '/api/v1/sms/received/';
  const [one, other] = [recorder('one', 0), recorder('other', 30)];
  const early = [one, other].map((each) => seenBy(each, 0, shows('sending')));
  const polls = Array.from({ length: 400 }, (_, nth) =>
    seenBy(nth % 100 === 99 ? other : one, 200 + nth / 10, { path, body: '[]' }),
  );
  expect(failed([...early, ...polls], true)).toContain('LIMIT-4');
});

/** The rules that a client broke which sent these. */
function brokenBy(exchanges: readonly TrafficExchange[]) {
  const { exchanges: judged, otherReadings } = exchangesOfTraffic(exchanges);
  const { rules } = judgeClient(judged, { otherReadings });
  return rules.filter(({ findings }) => findings.length > 0).map((rule) => rule.id);
}

test.each([
  ['dates', true],
  ['no dates', false],
])('CLIENT-1 a wait between the lines of two recorders, with %s', (_, isDated) => {
  const path = '/api/v1/sms/received/';
  const waited = (seconds: number, aheadSeconds: number, clock = 'other') => [
    seenBy(recorder('one', 0, isDated), 0, { path, status: 429, wait: 30 }),
    seenBy(recorder(clock, aheadSeconds, isDated), seconds, { path, body: '[]' }),
  ];
  expect(brokenBy(waited(31, -5))).toEqual([]);
  expect(brokenBy(waited(26, 0, 'one'))).toEqual(['CLIENT-1']);
  // The service's dates tell that the wait was not over, although the lines are out of order.
  expect(brokenBy(waited(20, 5))).toEqual(isDated ? ['CLIENT-1'] : []);
  const times = exchangesOfTraffic(waited(20, 5));
  const before = JSON.stringify(times.exchanges.map(({ sentAt, number }) => [sentAt, number]));
  for (const reading of times.otherReadings()) expect(reading).toHaveLength(2);
  const after = JSON.stringify(times.exchanges.map(({ sentAt, number }) => [sentAt, number]));
  expect(after).toBe(before);
  expect(isoTime(times.exchanges[0]?.sentAt ?? 0)).toBe('2026-02-03T10:00:00.000Z');
});
