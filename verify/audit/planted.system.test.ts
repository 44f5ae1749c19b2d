/** The audit of planted limiters on a clock of their own: what it calls certain is true. */
import { expect, test } from 'vitest';
import { audit, learn, type Reply, type Subject } from '#audit/audit.ts';
import { sample } from '../testkit/runs.ts';
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
  [1_000, 3_600_000],
] as const;

const sound = [
  ['fixed_window', fixedWindow],
  ['aligned_window', alignedWindow],
  ['sliding_log', slidingLog],
  ['sliding_counter', slidingCounter],
  ['token_bucket', tokenBucket],
  ['none_of_these', prolonged],
] as const;

const rows = sound.flatMap(([name, make]) =>
  sizes.map(([limit, windowMs]) => ({ name, make: make(limit, windowMs), limit, windowMs })),
);

/** Others may stay undetermined. */
const isLearned = ({ name, limit }: (typeof rows)[number]) =>
  name !== 'none_of_these' || limit === 120;

const past = [
  ...rows.map((row) => ({ ...row, requests: 0 })),
  ...rows.filter(({ limit }) => limit === 5).map((row) => ({ ...row, requests: 1 })),
];

// `SMSTWIN_RUNS=6` tries all of them.
test.each(sample(past, 4))(
  '$name of $limit in $windowMs ms is learned, with $requests requests before',
  async (row) => {
    const bench = new LimitedServer(perKey(row.make));
    for (let n = 0; n < row.requests; n += 1)
      await bench.request({ caller: 'caller-1', path: '/' });
    bench.now += row.requests * 0.37 * row.windowMs;
    const { statements, requests, seconds } = await audit({
      request: bench.request,
      ...bench.clock,
      maxWindow: Math.max(120_000, row.windowMs),
      budget: 4 * row.limit + 500,
    });
    const { algorithm, limit, window_seconds: window } = statements;
    if (row.requests === 0 && isLearned(row)) expect(algorithm.certainty).toBe('certain');
    if (row.limit === 120 && row.name !== 'none_of_these') {
      expect(requests).toBeLessThanOrEqual(4 * row.limit + 60);
      expect(seconds * 1_000).toBeLessThanOrEqual(6 * row.windowMs);
    }
    // A few more bursts distinguish what was sent before from another limiter.
    const mostSeconds = row.requests === 0 ? 20 : 30;
    if (row.limit === 5 && row.name !== 'none_of_these') expect(seconds).toBeLessThan(mostSeconds);
    if (algorithm.certainty === 'certain') expect(algorithm.value).toBe(row.name);
    if (limit.certainty === 'certain') expect(limit.value).toBe(row.limit);
    if (window.certainty === 'certain') expect(window.value).toBe(row.windowMs / 1_000);
    const keys = statements.keyed_by;
    if (keys.certainty === 'certain') expect(keys.value).toEqual(['address']);
  },
);

test.each([
  ['sliding_log', slidingLog],
  ['fixed_window', fixedWindow],
] as const)(
  'a %s of 120 in a minute that states no wait is learned in 540 requests',
  async (value, make) => {
    const bench = new LimitedServer(perKey(make(120, 60_000)));
    const request = async (subject: Subject) => ({ status: (await bench.request(subject)).status });
    const { statements, requests } = await audit({ request, ...bench.clock });
    expect(statements.algorithm).toMatchObject({ certainty: 'certain', value });
    expect(requests).toBeLessThanOrEqual(540);
  },
);

test('windows of the clock are learned in 540 requests, though one ends in the first burst', async () => {
  const bench = new LimitedServer(perKey(alignedWindow(120, 60_000)));
  // The first burst comes after 2.2 s, and takes 2.4 s until it is refused.
  bench.now += 57_000 - (bench.now % 60_000);
  const { statements, requests } = await audit({ request: bench.request, ...bench.clock });
  expect(statements.algorithm).toMatchObject({ certainty: 'certain', value: 'aligned_window' });
  expect(requests).toBeLessThanOrEqual(540);
});

/** A bucket, a window and a log of one request are one limiter. */
test.each([
  [1_000, 'a token bucket of one; a window or log of one request does the same'],
  [10_000, 'still possible: a token bucket of 1 in 9.'],
] as const)(
  'one request in %d ms is learned as far as its few windows show',
  async (windowMs, sentence) => {
    const bench = new LimitedServer(perKey(fixedWindow(1, windowMs)));
    const { statements } = await audit({ request: bench.request, ...bench.clock });
    expect(statements.algorithm.sentence).toContain(sentence);
  },
);

const others = [
  { subject: { caller: 'caller-2', path: '/' }, difference: 'address' },
  { subject: { caller: 'caller-1', path: '/other' }, difference: 'path' },
  { subject: { caller: 'caller-1', path: '/?x=1' }, difference: 'query' },
  { subject: { caller: 'caller-3', path: '/' }, difference: 'header:x-api-key' },
];

function differenceOf({ caller, path }: Subject): string {
  const same = others.find(({ subject }) => subject.caller === caller && subject.path === path);
  return same?.difference ?? '';
}

const shared = [
  ['aligned_window', alignedWindow(5, 1_000), ['all']],
  ['fixed_window', fixedWindow(5, 1_000), ['query']],
] as const;

// `SMSTWIN_RUNS=2` tries both.
test.each(sample(shared, 1))(
  'beside slow replies, it is certain who shares a %s',
  async (name, make, keys) => {
    const keyOf = (subject: Subject) =>
      keys.some((key) => key === differenceOf(subject)) ? differenceOf(subject) : '';
    const server = new LimitedServer(perKey(make), keyOf);
    // A window holds about as many requests as a test needs.
    server.takesMs = takingMs(7, 50);
    const { statements } = await learn({
      request: server.request,
      ...server.clock,
      others: others.map(({ subject }) => subject),
      differencesOf: (subject) => [differenceOf(subject)],
      differences: others.map(({ difference }) => difference),
      maxWindow: 3_000,
      budget: 300,
      timeout: 60_000,
    });
    const { algorithm, keyed_by: keyedBy } = statements;
    if (algorithm.certainty === 'certain') expect(algorithm.value).toBe(name);
    expect(keyedBy).toMatchObject({ value: keys, certainty: 'certain' });
  },
);

test('behind slow replies, a window that stays a span is certain in all else', async () => {
  const server = new LimitedServer(perKey(fixedWindow(5, 1_000)));
  server.takesMs = takingMs(12, 30);
  const { statements } = await audit({
    request: server.request,
    ...server.clock,
    maxWindow: 3_000,
  });
  expect(statements.window_seconds.certainty).toBe('undetermined');
  expect(statements.algorithm).toMatchObject({ value: 'fixed_window', certainty: 'certain' });
  expect(statements.at_once).toMatchObject({ value: 'exact', certainty: 'certain' });
});

/** How long replies take: up to 40 ms more than the least, as chance has it. */
function takingMs(seed: number, leastMs: number): () => number {
  let drawn = seed;
  return () => {
    drawn = (drawn * 16_807) % 2_147_483_647;
    return leastMs + (drawn % 40);
  };
}

test('requests of a race that a short queue delays make answers less exact, not wrong', async () => {
  const server = new LimitedServer(perKey(slidingLog(9, 3_000, true)));
  let waiting = 0;
  const request = async (subject: Subject) => {
    waiting += 1;
    const place = waiting;
    // All of a race have begun.
    await Promise.resolve();
    // A connection for which the queue has no room is opened again after a second.
    if (place === 10) server.now += 1_030;
    const reply = await server.request(subject);
    waiting -= 1;
    return reply;
  };
  const { statements } = await audit({ request, ...server.clock });
  expect(statements.algorithm).toMatchObject({ value: 'sliding_log', certainty: 'certain' });
  expect(statements.refusals_spend).toMatchObject({ value: true, certainty: 'certain' });
  expect(statements.at_once.certainty).toBe('undetermined');
});

test('headers are read in any case, and as those of a Response', async () => {
  const { request, clock } = new LimitedServer(perKey(fixedWindow(5, 1_000)));
  const forms = [
    ({ headers }: Reply) => ({ 'Retry-After': Object(headers)['retry-after'] }),
    ({ headers }: Reply) => new Headers(headers as Record<string, string>),
  ];
  for (const form of forms) {
    const { statements } = await audit({
      ...clock,
      request: async (subject) => {
        const reply = await request(subject);
        return reply.status === 429 ? { ...reply, headers: form(reply) } : reply;
      },
    });
    expect(statements.retry_after.value).toBe('exact');
  }
});

test('what is no reply is refused', async () => {
  const replying = (reply: unknown) => audit({ request: async () => reply as never, maxWindow: 1 });
  await expect(replying(true)).rejects.toThrow(/request must return \{ status, headers\? \}/);
  await expect(replying({ code: 429 })).rejects.toThrow(/but got \{ code: 429 \}/);
});
