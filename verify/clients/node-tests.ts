/**
 * Tests of the referee against Node clients, each on one clock with the service: wrong ones are
 * found by their rule, right ones by none.
 */
import { afterAll, expect } from 'vitest';
import { test } from '#src/testing/vitest.ts';
import type { NodeClient } from './client.ts';
import { printMatrix, type Seeds, seedsOf } from './matrix.ts';
import { runNodeClient } from './node-run.ts';
import { complaints } from './trial.ts';

export function testNodeClients(clients: readonly NodeClient[], seeds: Seeds): void {
  const found = new Map(clients.map((client) => [client, [] as string[][]]));
  test.for(
    clients.flatMap((client) =>
      seedsOf(client, seeds).map((seed) => ({
        verdict: client.rule === undefined ? 'no rule finds' : `${client.rule} finds`,
        name: client.name,
        seed,
        client,
      })),
    ),
  )('$verdict $name, seed $seed', async ({ client, seed }, { simulator, clientClock }) => {
    const run = await runNodeClient(client, seed, simulator, clientClock);
    const wrong = complaints(client, seed, run);
    found.get(client)?.push(wrong);
    expect(wrong.join('\n')).toBe('');
  });
  afterAll(() => printMatrix([...found].map(([client, all]) => ({ client, complaints: all }))));
}
