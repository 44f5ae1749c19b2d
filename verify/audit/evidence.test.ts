/** The requests that are no evidence, until one asks whether they count all the same. */
import { expect, test } from 'vitest';
import { Evidence } from '#audit/evidence.ts';
import { KeyTests } from '#audit/keys.ts';
import { Run, type Subject } from '#audit/run.ts';
import { LimitedServer, perKey, tokenBucket } from './limiters.ts';

test('requests of another caller that pass in each round of a test are kept in their order', async () => {
  // Each round of three requests takes 60 ms, as a token does: so the other caller passes in each.
  const server = new LimitedServer(perKey(tokenBucket(5, 1_000 / 60)), () => 'all');
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
  const tests = new KeyTests(run, evidence, { first, others: [other] });
  await tests.make(5);
  expect(tests.done[0]?.isShared).toBe(false);
  // The audit later asks whether those of the other count: each in its place.
  const { own = [] } = tests.done[0] ?? {};
  expect(own.length).toBe(4);
  const { decisions } = evidence;
  for (const { sent, at } of own) {
    expect(decisions[at - 1]?.to).toBeLessThanOrEqual((sent[0]?.sentAtMs ?? 0) + 1);
    expect(decisions[at]?.from).toBeGreaterThanOrEqual((sent.at(-1)?.answeredAtMs ?? 0) - 1);
  }
});
