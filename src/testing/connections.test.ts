/**
 * Many idle connections, and many that come and go: callers are served meanwhile, and nothing is left behind.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transports } from '../commands/serve-options.ts';
import { churn } from './connection-churn.ts';
import { IdleCrowd } from './idle-crowd.ts';
import { handlesOf, ServedProcess } from './served-process.ts';
import { callSteadily } from './steady-callers.ts';

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
      const calling = callSteadily({ ready: callers, perMinute: 1_200, seconds: 1 });
      await churn(port, 2_000);
      const { latencies, unexpected } = await calling;

      expect(unexpected).toEqual([]);
      expect(latencies).toHaveLength(40);
      expect(crowd.report()).toEqual({ open: 500, timedOut: 0, lost: [] });
      const { descriptors } = await served.holdings();
      if (descriptors !== undefined) expect(descriptors).toBeGreaterThan(500);
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
