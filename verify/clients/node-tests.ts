/**
 * Tests of the referee against Node clients, each on one clock with the service: wrong ones are
 * found by their rule, right ones by none.
 */
import { expect } from 'vitest';
import { test } from '#src/testing/vitest.ts';
import type { NodeClient } from './client.ts';
import { runInNode } from './run.ts';
import { complaints, seedsOf } from './verdict.ts';

export function testNodeClients(clients: readonly NodeClient[]): void {
  const rows = clients.flatMap((client) =>
    seedsOf().map(
      (seed) => [`${client.rule ?? 'right'}: ${client.name}, seed ${seed}`, client, seed] as const,
    ),
  );
  test.for(rows)('%s', async ([, client, seed], { simulator, clientClock }) => {
    const run = await runInNode(client, seed, simulator, clientClock);
    expect(complaints(run).join('\n')).toBe('');
  });
}
