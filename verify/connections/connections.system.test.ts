/**
 * Many idle connections, and many that come and go: callers are served meanwhile, and nothing is left behind.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transports } from '../../src/cli/serve-options.ts';
import { handlesOf, ServedProcess } from '../testkit/served-process.ts';
import { churn } from './connection-churn.ts';
import { IdleCrowd } from './idle-crowd.ts';
import { callSteadily, percentile } from './steady-callers.ts';

test.each(transports)(
  '%s: 500 idle connections and 2,000 that come and go delay no caller for good, and leave no handle',
  async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-connections-'));
    const served = await ServedProcess.start(folder, ['--transport', transport]);
    try {
      const { baseUrl, controlUrl, ready } = served;
      const callers = { ...ready, accounts: ready.accounts.slice(0, 2) };
      const port = Number(new URL(baseUrl).port);
      await churn(port, 50);
      const before = handlesOf(await served.settledHoldings());

      const crowd = new IdleCrowd({ baseUrl, controlUrl, count: 500, streams: 10 });
      await crowd.open();
      expect(crowd.report()).toEqual({ open: 500, timedOut: 0, lost: [] });
      // Connected to the kernel first; the server takes them in its own time.
      const taken = async () => (await served.holdings()).descriptors ?? Number.NaN;
      if (!Number.isNaN(await taken())) {
        await expect.poll(taken, { timeout: 20_000 }).toBeGreaterThan(500);
      }
      const calling = callSteadily({ ready: callers, perMinute: 1_200, seconds: 1 });
      await churn(port, 2_000);
      const { latencies, unexpected } = await calling;

      expect(unexpected).toEqual([]);
      expect(latencies).toHaveLength(40);
      expect(crowd.report().lost).toEqual([]);
      crowd.close();
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

test('a connection that a server ends too early is lost, and so is one that it does not take', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const crowd = new IdleCrowd({ baseUrl: url, controlUrl: url, count: 4, streams: 1 });
  await crowd.open();
  await expect.poll(() => crowd.report().lost.length).toBe(4);
  await new Promise((resolve) => server.close(resolve));
  const refused = new IdleCrowd({ baseUrl: url, controlUrl: url, count: 1, streams: 0 });
  await refused.open();
  expect(refused.report()).toEqual({ open: 0, timedOut: 0, lost: ['silent: could not connect'] });
});

test('percentiles are those of the nearest rank', () => {
  const rising = Array.from({ length: 200 }, (_, index) => index + 1);
  expect([0.5, 0.99, 1].map((share) => percentile(rising, share))).toEqual([100, 198, 200]);
  expect(percentile([], 0.5)).toBeNaN();
});
