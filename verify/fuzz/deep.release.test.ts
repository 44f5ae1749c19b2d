/** Hostile requests to a server in a child process, so that a crash is seen, and to both transports. */
import { expect, test } from 'vitest';
import { runs, seed } from '../testkit/runs.ts';
import { kinds } from '../testkit/transport-fixture.ts';
import { compareTransports } from './compare.ts';
import { fuzz } from './run.ts';
import { serveInChild } from './served.ts';

const timeout = 86_400_000;

test.each(kinds)(
  '%s: a process that is fuzzed goes on, and its world stays sound',
  async (transport) => {
    const served = await serveInChild(transport);
    console.log(await fuzz(served, transport, runs(12_500), seed).finally(() => served.stop()));
  },
  timeout,
);

test('both transports hand the same requests to the service', { timeout }, async () => {
  expect(await compareTransports(5_000, seed)).toBeGreaterThanOrEqual(5_000);
});
