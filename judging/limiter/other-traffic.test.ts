/** What statistics say about messages that the run did not send. */
import { expect, test } from 'vitest';
import type { Exchange } from '../evidence/exchange.ts';
import { messagesOfOthers, othersIn } from './other-traffic.ts';

const caller = { account: 'own', key: 'valid', isNew: false };

function exchange(at: number, status: number, more: object, json?: object): Exchange {
  const reply = { status, json };
  return { caller, sentAt: at, answeredAt: at + 5, isRetried: false, reply, ...more } as never;
}

const bucket = {
  endpoint: 'send' as const,
  limit: 120,
  isOfAddress: false,
  knownSince: 0,
  hasExactTimes: false,
  spanErrorMs: 0,
};

/** Ten sends, with a reading of the statistics before the first and after each, and four later. */
function run(
  figures: (sends: number) => { [name: string]: unknown },
  others = 0,
  apartMs = 20_000,
): Exchange[] {
  const stats = (n: number, at: number, more = 0) => {
    const all = figures(n);
    const json = typeof all['used'] === 'number' ? { ...all, used: all['used'] + more } : all;
    return exchange(at, 200, { method: 'GET', endpoint: 'stats' }, json);
  };
  const sends = Array.from({ length: 10 }, (_, i) =>
    exchange(i * 100 + 100, 202, { method: 'POST', endpoint: 'send' }),
  );
  const later = [0, 1, 2, 3].map((n) => stats(10, 10_000 + n * apartMs, (n + 1) * others));
  return [
    stats(0, 50),
    ...sends.flatMap((send, i) => [send, stats(i + 1, i * 100 + 150)]),
    ...later,
  ];
}

test('a figure that grows with the messages of the run shows that no other client sends', () => {
  expect(messagesOfOthers(run((n) => ({ month: { used: 7 + n }, sims: 2 })))).toBe(0);
});

test('a figure that grows faster counts the messages of others', () => {
  expect(messagesOfOthers(run((n) => ({ used: 7 + n }), 5))).toBe(20);
});

test('readings at once may be answered in any order', () => {
  const log = run((n) => ({ used: 7 + n }), 5);
  const [, , , latest] = log.slice(-4);
  const overlapping = { ...log.at(-4), sentAt: latest?.sentAt, answeredAt: latest?.answeredAt };
  expect(messagesOfOthers([...log, overlapping as Exchange])).toBe(20);
});

test('a reply without figures, such as that to HEAD, does not hide the others', () => {
  const head = exchange(9_000, 200, { method: 'HEAD', endpoint: 'stats' });
  expect(messagesOfOthers([...run((n) => ({ used: 7 + n }), 5), head])).toBe(20);
});

test('what a repeated send may have queued before its 429 is no message of others', () => {
  const log = run((n) => ({ used: 7 + n }), 5);
  const repeated = Array.from({ length: 15 }, (_, i) =>
    exchange(12_000 + i, 429, { method: 'POST', endpoint: 'send', isRetried: true }),
  );
  expect(messagesOfOthers([...log, ...repeated])).not.toBe(20);
});

test('a run that hardly rests does not know whether others send', () => {
  expect(messagesOfOthers(run((n) => ({ used: 7 + n }), 0, 5_000))).toBeUndefined();
});

test('long messages of the run do not hide those of others in a figure that counts messages', () => {
  const log = run((n) => ({ used: 7 + n }));
  const long = { fields: { message: 'x'.repeat(1_600) }, method: 'POST', endpoint: 'send' };
  const sends = [0, 1, 2].map((n) => exchange(80_000 + n * 1_000, 202, long));
  const figures = (used: number, at: number) =>
    exchange(at, 200, { method: 'GET', endpoint: 'stats' }, { used });
  const all = [...log, ...sends, figures(20, 90_000)];
  expect(messagesOfOthers([...all, figures(90, 150_000)])).toBe(90 - 17 - 3 * 11);
  // As many as the three have parts: they may be counted so.
  expect(messagesOfOthers([...all, figures(17 + 3 * 11, 150_000)])).toBe(0);
});

test('a figure that is shown late counts no messages of others', () => {
  const log = run((n) => ({ used: 7 + Math.max(0, n - 6) }));
  const late = exchange(150_000, 200, { method: 'GET', endpoint: 'stats' }, { used: 17 });
  expect(messagesOfOthers([...log, late])).toBe(0);
});

test('figures of segments or of other things do not hide one that counts messages', () => {
  const figures = (n: number) => ({ used: n, segments: n * 11, delivered: Math.max(0, n - 2) });
  expect(messagesOfOthers(run(figures))).toBe(0);
});

test('without a figure that counts messages it stays unknown', () => {
  expect(messagesOfOthers(run(() => ({ plan: 1_000 })))).toBeUndefined();
});

test.each([
  ['own', true],
  ['second', false],
])('AUTH-6 another client may have spent the token of the account %s: %s', (account, isSo) => {
  const more = { method: 'POST', endpoint: 'send', caller: { ...caller, account } };
  const exchanges = [exchange(70_000, 429, more)];
  const why = othersIn({ log: exchanges, hasExactTimes: false } as never, { ...bucket, exchanges });
  expect(why !== undefined).toBe(isSo);
});

test.each([
  [120, undefined, false],
  [122, undefined, true],
  // A token bucket gives back steadily, and a busy client may take half of that.
  [122, 60, true],
  [122, 30, false],
])('LIMIT-1 another client may explain a 429 after %i, then after %s: %s', (passed, then, isSo) => {
  const more = { method: 'POST', endpoint: 'send' };
  const floodAt = (at: number, times = 0) =>
    Array.from({ length: times }, (_, i) => exchange(at + i * 20, 202, more));
  const first = [...floodAt(70_000, passed), exchange(73_000, 429, more)];
  const second = [...floodAt(140_000, then), exchange(143_000, 429, more)];
  const exchanges = then === undefined ? first : [...first, ...second];
  const of = (log: readonly Exchange[]) =>
    othersIn({ log, hasExactTimes: false } as never, { ...bucket, exchanges });
  expect(of(exchanges) !== undefined).toBe(isSo);
  // While the machine stands still, a client on it sends nothing: then anything may be its doing.
  const late = exchange(10_000, 202, { reply: { status: 202, isLate: true } });
  expect(of([late, ...exchanges])).toBeDefined();
});

test.each([
  [[120, 74, 120, 76], false],
  [[120, 74, 120, 100], true],
  // A client that asks steadily leaves no bucket full.
  [[74, 120, 76], true],
  [[120, 120, 74, 76], true],
])('LIMIT-4 another client may explain that %j requests passed: %s', (counts, isSo) => {
  const more = { endpoint: 'received', method: 'GET' };
  const exchanges = counts.flatMap((passed, n) => [
    ...Array.from({ length: passed }, (_, i) => exchange(100_000 * n + i * 20, 200, more)),
    exchange(100_000 * n + 5_000, 429, more),
  ]);
  const of = { ...bucket, endpoint: 'received' as const, exchanges };
  const why = othersIn({ log: exchanges, hasExactTimes: false } as never, of);
  expect(why !== undefined).toBe(isSo);
});
