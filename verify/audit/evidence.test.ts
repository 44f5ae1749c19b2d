/** The requests that are no evidence, until one asks whether they count all the same. */
import { expect, test } from 'vitest';
import { Evidence } from '#audit/evidence.ts';
import { KeyTests } from '#audit/keys.ts';
import { Run, type Subject } from '#audit/run.ts';
import { LimitedServer, perKey, slidingLog, tokenBucket } from './limiters.ts';

test('a token that returns in each round of a test leaves open who shares the limit', async () => {
  // Each round of three requests takes 60 ms, as a token does: so the other caller passes in each.
  const server = new LimitedServer(perKey(tokenBucket(5, 300)), () => 'all');
  const { request, clock } = server;
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const evidence = new Evidence(1_000);
  const [first, other] = ['one', 'two'].map((caller): Subject => ({ caller, path: '/' }));
  if (first === undefined || other === undefined) throw new Error('no callers');
  const ask = async (count: number) => {
    for (let i = 0; i < count; i += 1) evidence.add(await run.ask(first));
  };
  await ask(8);
  const tests = new KeyTests(run, evidence, {
    first,
    others: [other],
    differencesOf: () => ['address'],
  });
  await tests.make(5);
  expect(tests.done).toMatchObject([{ isShared: false, isClear: false }]);
  // The audit later asks whether those of the other counted.
  const asked = tests.done[0]?.own.flat() ?? [];
  expect(asked.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(1);
});

test('each other that passed is doubted alone, as if it shared a limit higher than it seemed', async () => {
  const { request, clock } = new LimitedServer(perKey(slidingLog(3, 4_000)));
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const doubted: string[] = [];
  const evidence = new Evidence(1_000);
  evidence.isConsistentWith = (omitted) => {
    doubted.push([...new Set(omitted.flat().map(({ path }) => path))].join());
    return false;
  };
  const first: Subject = { caller: 'one', path: '/' };
  const others = ['/a', '/b'].map((path) => ({ caller: path, path }));
  for (let i = 0; i < 5; i += 1) evidence.add(await run.ask(first));
  const tests = new KeyTests(run, evidence, { first, others, differencesOf: () => ['path'] });
  await tests.make(3);
  expect(tests.done.map(({ isShared, isClear }) => [isShared, isClear])).toEqual([
    [false, true],
    [false, true],
  ]);
  tests.checkForUncountedRequests();
  expect(doubted).toEqual(['/a,/b', '/a', '/b']);
});
