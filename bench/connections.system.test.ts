/** Many idle and short connections: other callers are still served, and nothing leaks. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transports } from '#src/config/settings.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { IdleClients } from '#verify/long/idle-clients.ts';
import { handlesOf, ServedProcess } from '#verify/testkit/processes/served-process.ts';
import { bearer, sendPaths } from '#verify/testkit/twin/request.ts';
import type { LoadResult } from './load/load-result.ts';
import { runLoad } from './load/run-load.ts';
import type { RequestTemplate } from './load/workload.ts';

test.each(transports)(
  '%s: 500 idle and 2,000 short connections neither block callers nor leak handles',
  async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-connections-'));
    const served = await ServedProcess.start(folder, ['--transport', transport]);
    try {
      const { baseUrl, controlUrl, ready } = served;
      const callers = { ...ready, accounts: ready.accounts.slice(0, 2) };
      await comeAndGo(baseUrl, 1);
      const before = handlesOf(await served.settledHoldings());

      const clients = new IdleClients({ baseUrl, controlUrl, count: 500, streams: 10 });
      await clients.open();
      expect({ open: clients.sockets.size, lost: clients.lost }).toEqual({ open: 500, lost: [] });
      // The kernel connects first; the server accepts later. Meanwhile 75 may time out.
      const taken = async () => (await served.holdings()).descriptors ?? Number.NaN;
      if (!Number.isNaN(await taken())) await expect.poll(taken).toBeGreaterThan(425);
      const calling = callSteadily({ ready: callers, perMinute: 240, seconds: 5 });
      await comeAndGo(baseUrl, 40);
      const { requests, errors } = await calling;

      expect({ requests, errors }).toEqual({ requests: 40, errors: 0 });
      expect(clients.lost).toEqual([]);
      await clients.close();
      await expect
        .poll(async () => handlesOf(await served.holdings()), { timeout: 20_000, interval: 50 })
        .toEqual(before);
      expect(served.errors).toBe('');
    } finally {
      await served.kill();
      rmSync(folder, { recursive: true });
    }
  },
  60_000,
);

test('a connection is lost if the server ends it too early or does not accept it', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const clients = new IdleClients({ baseUrl: url, controlUrl: url, count: 4, streams: 1 });
  await clients.open();
  await expect.poll(() => clients.lost.length).toBe(4);
  await new Promise((resolve) => server.close(resolve));
  const refused = new IdleClients({ baseUrl: url, controlUrl: url, count: 1, streams: 0 });
  await refused.open();
  expect(refused.sockets.size).toBe(0);
  expect(refused.lost).toEqual(['silent: could not connect']);
});

const closings = ['end', 'destroy', 'resetAndDestroy'] as const;

/** Opens connections of all kinds, fifty at a time, and closes them in all ways. */
async function comeAndGo(baseUrl: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const plan = { baseUrl, controlUrl: baseUrl, count: 50, streams: 0, unfinishedBodies: 10 };
    const clients = new IdleClients(plan);
    await clients.open();
    await clients.close(closings[round % closings.length]);
  }
}

interface CallersPlan {
  readonly ready: ReadyFile;
  /** Per caller; the limit of its account allows 120. */
  readonly perMinute: number;
  readonly seconds: number;
}

/**
 * Calls for each account at a steady pace, by the bench's open loop: latency counts from the
 * scheduled start, so a stalling server is charged for every request that it delays.
 */
function callSteadily({ ready, perMinute, seconds }: CallersPlan): Promise<LoadResult> {
  const { hostname: host, port } = new URL(ready.base_url);
  const { accounts } = ready;
  const [first, ...others] = accounts.map(
    ({ api_key: key, sims: [sim] }): RequestTemplate => ({
      method: 'POST',
      path: sendPaths.send,
      headers: { authorization: bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from: sim?.number, message: 'steady' }),
    }),
  );
  if (first === undefined) throw new Error('no account calls');
  return runLoad(
    { host, port: Number(port) },
    { requests: [first, ...others], expects: [202] },
    {
      connections: accounts.length,
      durationMs: seconds * 1_000,
      perSecond: (accounts.length * perMinute) / 60,
    },
  );
}
