/** The audit of planted limiters with one fault each: a statement names it. */
import { expect, test } from 'vitest';
import { audit } from '#audit/audit.ts';
import { Bench, type Decided, fixedWindow, perKey, prolonged, slidingLog } from './limiters.ts';

const limiter = () => perKey(slidingLog(5, 2_000));

function saying(waitOf: (waitMs: number) => number) {
  return ({ passes, waitMs }: Decided): Record<string, string> =>
    passes ? {} : { 'retry-after': `${waitOf(waitMs)}` };
}

test('a wait that is rounded down is short', async () => {
  const headers = saying((waitMs) => Math.floor(waitMs / 1_000));
  const bench = new Bench(limiter(), undefined, headers);
  const { statements } = await audit({ request: bench.request, ...bench.clock });
  expect(statements.retry_after).toMatchObject({ value: 'short', certainty: 'certain' });
});

test('a wait that is always the same is longer than needed', async () => {
  const bench = new Bench(
    limiter(),
    undefined,
    saying(() => 60),
  );
  const { statements } = await audit({ request: bench.request, ...bench.clock });
  expect(statements.retry_after).toMatchObject({ value: 'sufficient', certainty: 'certain' });
  expect(statements.retry_after.sentence).toContain('always says 60 s');
});

test('a key that forgets what tells callers apart is one limit for all', async () => {
  const bench = new Bench(limiter(), () => 'the address without its port');
  const { statements } = await audit({ request: bench.request, ...bench.clock });
  expect(statements.keyed_by).toMatchObject({ value: ['all'], certainty: 'certain' });
});

test('a key of the bytes of the path gives another spelling a limit of its own', async () => {
  const bench = new Bench(perKey(fixedWindow(5, 1_000)), ({ path }) => path);
  const { statements } = await audit({
    request: bench.request,
    ...bench.clock,
    callers: ['one'],
    paths: ['/orders', '/%6frders'],
  });
  expect(statements.keyed_by).toMatchObject({ value: ['path'], certainty: 'certain' });
});

test('a window that each request prolongs is none of the known limiters', async () => {
  const bench = new Bench(perKey(prolonged(120, 60_000)));
  const { statements } = await audit({ request: bench.request, ...bench.clock });
  expect(statements.algorithm).toMatchObject({ value: 'none_of_these', certainty: 'certain' });
  expect(statements.algorithm.sentence).toContain('prolongs');
});

test('two windows at once are never called a single one', async () => {
  const [second, minute] = [perKey(fixedWindow(10, 1_000)), perKey(fixedWindow(100, 60_000))];
  const bench = new Bench((key, now) => {
    const first = second(key, now);
    return first.passes ? minute(key, now) : first;
  });
  const { algorithm } = (await audit({ request: bench.request, ...bench.clock })).statements;
  expect([null, 'none_of_these']).toContain(algorithm.value);
});

test('two workers with a counter each are never called a known limiter for certain', async () => {
  const workers = [limiter(), limiter()] as const;
  let seed = 7;
  const bench = new Bench((key, now) => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed % 2 === 0 ? workers[0](key, now) : workers[1](key, now);
  });
  const { algorithm } = (await audit({ request: bench.request, ...bench.clock })).statements;
  expect([null, 'none_of_these']).toContain(algorithm.value);
});

test('a counter that is read before it is written lets more pass at once', async () => {
  let spent: number[] = [];
  const bench = new Bench(() => ({ passes: true, waitMs: 0 }));
  const request = async () => {
    spent = spent.filter((time) => time > bench.now - 2_000);
    const isFull = spent.length >= 5;
    await Promise.resolve();
    if (isFull) return { status: 429 };
    spent.push(bench.now);
    return { status: 200 };
  };
  const { statements } = await audit({ request, ...bench.clock });
  expect(statements.at_once.certainty).toBe('certain');
  expect(statements.at_once.value).toBeGreaterThan(0);
});
