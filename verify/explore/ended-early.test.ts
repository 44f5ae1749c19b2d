/**
 * A search that is interrupted or runs out of budget: it reports what it found, and never runs the
 * client more often than its budget allows.
 */
import { expect, test } from 'vitest';
import { type RunClient, SearchStopped } from '#explore/client-run.ts';
import type { ClientTools } from '#explore/explore.ts';
import { runInProcess } from '#explore/in-process-run.ts';
import { search } from '#explore/search.ts';
import { exitCodeOf } from '#explore/search-result.ts';

/** Sends two messages and never looks at a reply, so every lost message is a finding. */
async function careless({ fetch, baseUrl, apiKey, from }: ClientTools): Promise<void> {
  for (const message of ['one', 'two']) {
    await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message, request_id: message }),
    }).catch(() => undefined);
  }
}

/** Explores it with single faults; `interruptedAt`: the run that the user interrupts. */
async function explored({ maxRuns = 100, interruptedAt = 0 }) {
  const options = { client: careless, settings: {}, slowMs: 3_000, timeoutMs: 600_000 };
  let started = 0;
  const runClient: RunClient = (...run) => {
    if (++started === interruptedAt) throw new SearchStopped('interrupted');
    return runInProcess(options, ...run);
  };
  const result = await search({
    runClient,
    maxRuns,
    jobs: 1,
    faults: ['throttle', 'unavailable', 'refuse'] as const,
    depth: 1,
    seed: 2,
    bail: false,
    mayFail: false,
  });
  return { ...result, started };
}

test('an interrupt before a failure was run again leaves it not confirmed', async () => {
  const result = await explored({ interruptedAt: 5 });
  expect(result).toMatchObject({ stop: 'interrupted', findings: [] });
  expect(result.unconfirmed.map(({ schedule }) => schedule)).toEqual([
    [{ at: { endpoint: 'send', intent: 1, attempt: 1 }, fault: 'throttle' }],
  ]);
  expect(exitCodeOf(result)).toBe(130);
});

test('a budget that ends before a failure was run again leaves it not confirmed: 1', async () => {
  const result = await explored({ maxRuns: 4 });
  expect(result).toMatchObject({ stop: 'budget', findings: [], runs: 4 });
  expect(result.unconfirmed).toHaveLength(1);
  expect(exitCodeOf(result)).toBe(1);
});

test('a budget that ends while a failure is shrunk leaves it as it was found', async () => {
  const result = await explored({ maxRuns: 6 });
  expect(result).toMatchObject({ stop: 'budget', unconfirmed: [], runs: 6 });
  expect(result.findings).toMatchObject([
    { isShrunk: false, schedule: [{ at: { intent: 2 }, fault: 'refuse' }] },
  ]);
});

test('the runs that confirm and shrink count as runs of the budget', async () => {
  for (let maxRuns = 1; maxRuns <= 14; maxRuns++) {
    const { runs, started } = await explored({ maxRuns });
    expect(started, `of ${maxRuns}`).toBeLessThanOrEqual(maxRuns);
    expect(runs).toBe(started);
  }
});
