/** The ledger of a soak checks replays, and the journals name the admitted requests. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admittedIn } from './journal-record.ts';
import { Ledger, type UsedId } from './ledger.ts';

const body = (id: string, createdAt: string) =>
  JSON.stringify({ message_id: id, created_at: createdAt });
const first = body('id-1', '2026-03-01T00:00:00.000Z');
const dayLater = '2026-03-02T00:00:00.000Z';

function usedOnce(originalBody: string | undefined = first): { ledger: Ledger; used: UsedId } {
  const ledger = new Ledger();
  return { ledger, used: { account: 'alpha', requestId: 'a', originalBody, isBusy: false } };
}

function replay({ ledger, used }: ReturnType<typeof usedOnce>, status: number, text: string) {
  const again = ledger.recordSend({
    token: 'soak 2',
    account: 'alpha',
    requestId: 'a',
    isStuck: false,
  });
  ledger.recordReplay(used, again, status, text);
  return { complaints: ledger.complaints, outcome: again.outcome };
}

test('a replay with the first bytes creates no message', () => {
  expect(replay(usedOnce(), 200, first)).toEqual({ complaints: [], outcome: 'refused' });
});

test('a replay with other bytes is a complaint, unless the first answer was lost', () => {
  const other = body('id-1', dayLater);
  expect(replay(usedOnce(), 200, other).complaints).toEqual([
    'replay of a: the bytes differ from the first answer',
  ]);
  const { ledger, used } = usedOnce();
  used.originalBody = undefined;
  expect(replay({ ledger, used }, 200, other).complaints).toEqual([]);
  expect(ledger.messageIds).toEqual(new Set(['id-1']));
});

test('a second message within 24 h is a complaint; a later one is not', () => {
  expect(replay(usedOnce(), 202, body('id-2', dayLater)).complaints).toEqual([
    'replay of a: a second message after 86400000 ms',
  ]);
  const later = body('id-2', '2026-03-02T00:00:00.001Z');
  expect(replay(usedOnce(), 202, later)).toEqual({ complaints: [], outcome: 'accepted' });
});

test('a journal is read from the first reset: what was admitted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-record-'));
  const at = '2026-03-01T00:00:00.000Z';
  const send = (status: number, text: string, more: object = {}) => ({
    at,
    request: { path: '/api/v1/sms/send/', key_id: 'k1', body: '{"request_id":"a"}', ...more },
    reply: { status, body: text },
  });
  const lines = [
    { journal: 1 },
    send(202, '{"warm":"up"}'),
    { at, operation: 'reset', args: [0], result: '' },
    send(202, '{"n":1}'),
    send(200, '{"n":'),
    send(429, '{}'),
    send(202, '{"n":2}', { body: '{}', path: '/api/sms/send/' }),
    send(401, '{}', { key_id: undefined }),
    send(200, '{}', { path: '/api/v1/account/stats/' }),
  ];
  const file = join(folder, 'run.ndjson');
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const admitted = admittedIn([file], new Map([['k1', 'alpha']]));
  rmSync(folder, { recursive: true });
  expect(admitted.map(({ endpoint }) => endpoint)).toEqual(['send', 'send', 'dashboard_send']);
});
