/** The audit of planted limiters on a clock of their own: what it calls certain is true. */
import { expect, test } from 'vitest';
import { audit } from '#audit/audit.ts';
import {
  alignedWindow,
  fixedWindow,
  LimitedServer,
  perKey,
  prolonged,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from './limiters.ts';

const sizes = [
  [5, 1_000],
  [120, 60_000],
] as const;

const sound = [
  ['fixed_window', fixedWindow],
  ['aligned_window', alignedWindow],
  ['sliding_log', slidingLog],
  ['sliding_counter', slidingCounter],
  ['token_bucket', (n: number, ms: number) => tokenBucket(n, (n / ms) * 1_000)],
  ['none_of_these', prolonged],
] as const;

const rows = sound.flatMap(([name, make]) =>
  sizes.map(([limit, windowMs]) => ({ name, make: make(limit, windowMs), limit, windowMs })),
);

/** Those whose algorithm an audit must find; others may stay undetermined. */
const learned: readonly string[] = [
  'fixed_window 120',
  'aligned_window 120',
  'sliding_log 120',
  'fixed_window 5',
  'aligned_window 5',
  'sliding_log 5',
  'sliding_counter 5',
  'token_bucket 5',
];

const past = [
  ...rows.map((row) => ({ ...row, requests: 0 })),
  ...rows.filter(({ limit }) => limit === 5).map((row) => ({ ...row, requests: 1 })),
];

test.each(past)(
  '$name of $limit in $windowMs ms is learned, with $requests requests before',
  async (row) => {
    const bench = new LimitedServer(perKey(row.make));
    for (let n = 0; n < row.requests; n += 1)
      await bench.request({ caller: 'caller-1', path: '/' });
    bench.now += row.requests * 0.37 * row.windowMs;
    const { statements, requests, seconds } = await audit({
      request: bench.request,
      ...bench.clock,
    });
    const { algorithm, limit, window_seconds: window } = statements;
    if (row.requests === 0 && learned.includes(`${row.name} ${row.limit}`))
      expect(algorithm.certainty).toBe('certain');
    if (row.limit === 120 && row.name !== 'none_of_these') {
      expect(requests).toBeLessThanOrEqual(4 * row.limit + 60);
      expect(seconds * 1_000).toBeLessThanOrEqual(6 * row.windowMs);
    }
    if (row.limit === 5 && row.name !== 'none_of_these') expect(seconds).toBeLessThan(20);
    if (algorithm.certainty === 'certain') expect(algorithm.value).toBe(row.name);
    if (limit.certainty === 'certain') expect(limit.value).toBe(row.limit);
    if (window.certainty === 'certain') expect(window.value).toBe(row.windowMs / 1_000);
    const keys = statements.keyed_by;
    if (keys.certainty === 'certain') expect(keys.value).toEqual(['address']);
  },
);
