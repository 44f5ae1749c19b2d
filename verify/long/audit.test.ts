/** The audit of a soak finds each kind of planted damage. */
import { expect, test } from 'vitest';
import { audit, type Evidence } from './audit.ts';

const startMs = Date.parse('2026-03-01T00:00:00.000Z');
const at = (ms: number) => new Date(startMs + ms).toISOString();

const recorded = {
  token: 'soak 1',
  account: 'alpha',
  requestId: '',
  isStuck: false,
  outcome: 'accepted',
  messageId: 'id-1',
} as const;

const found = {
  message_id: 'id-1',
  status: 'delivered',
  request_id: '',
  created_at: at(0),
  send_at: null,
  message: 'soak 1',
  history: [
    { status: 'queued', at: at(0) },
    { status: 'sending', at: at(9_000) },
    { status: 'sent', at: at(29_000) },
    { status: 'delivered', at: at(49_000) },
  ],
};

const sound: Evidence = {
  sends: [recorded],
  messageIds: new Set(['id-1']),
  messages: [found],
  admitted: Array.from({ length: 240 }, (_, index) => ({
    endpoint: 'send' as const,
    user: 'alpha',
    passed: true,
    atMs: startMs + Math.floor(index / 120) * 60_000,
  })),
};

test('a correct run has no complaint', () => {
  expect(audit(sound)).toEqual([]);
});

const message = (changes: object) => ({ messages: [{ ...found, ...changes }] });
const admittedAt = (ms: number) =>
  ({ endpoint: 'send', user: 'alpha', passed: true, atMs: startMs + ms }) as const;

test.each<[string, Partial<Evidence>, string]>([
  ['lost', { messages: [] }, 'lost: soak 1'],
  [
    'lost, known only from a replay',
    { messageIds: new Set(['id-1', 'id-2']) },
    'lost: message id-2',
  ],
  ['doubled', { messages: [found, { ...found, message_id: 'id-2' }] }, 'doubled: soak 1'],
  ['invented', { sends: [] }, 'invented: soak 1'],
  [
    'refused but found',
    { sends: [{ ...recorded, outcome: 'refused' }] },
    'accepted though refused: soak 1',
  ],
  ['with another id', message({ message_id: 'id-2' }), 'another id: soak 1'],
  [
    'with a skipped state',
    message({ history: [found.history[0], found.history[3]] }),
    'illegal: soak 1 queued is followed by delivered',
  ],
  [
    'with a step after its end',
    message({
      history: [...found.history, { status: 'failed', at: at(60_000) }],
      status: 'failed',
    }),
    'illegal: soak 1 delivered is followed by failed',
  ],
  [
    'with decreasing times',
    message({ history: [...found.history.slice(0, 3), { status: 'delivered', at: at(28_000) }] }),
    `illegal: soak 1 goes back to ${at(28_000)}`,
  ],
  [
    'with a wrong first state',
    message({ history: found.history.slice(1) }),
    'illegal: soak 1 begins wrongly',
  ],
  [
    'sent before its send_at',
    message({ send_at: at(9_001) }),
    `illegal: soak 1 is picked up at ${at(9_000)}, held until ${at(9_001)}`,
  ],
  [
    'with a status other than its last',
    message({ status: 'failed' }),
    'illegal: soak 1 ends in another status than failed',
  ],
  [
    'unfinished',
    message({ status: 'sent', history: found.history.slice(0, 3) }),
    'unfinished: soak 1 is sent',
  ],
])('a message %s is reported', (_, damage, complaint) => {
  expect(audit({ ...sound, ...damage })).toContain(complaint);
});

test('a message with a stuck fate may stay unfinished', () => {
  const stuck = message({ status: 'sent', history: found.history.slice(0, 3) });
  expect(audit({ ...sound, ...stuck, sends: [{ ...recorded, isStuck: true }] })).toEqual([]);
});

test('a 121st request within 60 s is over-admission; after exactly 60 s it is not', () => {
  const full = sound.admitted.slice(0, 120);
  expect(audit({ ...sound, admitted: [...full, admittedAt(60_000)] })).toEqual([]);
  expect(audit({ ...sound, admitted: [...full, admittedAt(59_999)] })).toEqual([
    `over-admitted: send of alpha: 121 in the 60 s up to ${at(59_999)}`,
  ]);
});
