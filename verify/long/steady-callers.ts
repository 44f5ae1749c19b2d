/**
 * Callers that each send at a steady pace for their own account, by the bench's open loop: latency
 * counts from the scheduled start, so a stalling server is charged for every request that it
 * delays.
 */
import type { LoadResult } from '../../bench/load/load-result.ts';
import { openLoop } from '../../bench/load/open-loop.ts';
import type { RequestTemplate } from '../../bench/load/workload.ts';
import type { ReadyFile } from '../../src/simulator.ts';
import { bearer, sendPaths } from '../testkit/request.ts';

export interface CallersPlan {
  readonly ready: ReadyFile;
  /** Per caller; the limit of its account allows 120. */
  readonly perMinute: number;
  readonly seconds: number;
}

/** One caller for each account, each with a connection. */
export function callSteadily({ ready, perMinute, seconds }: CallersPlan): Promise<LoadResult> {
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
  return openLoop(
    { host, port: Number(port) },
    { requests: [first, ...others], expects: [202] },
    {
      connections: accounts.length,
      durationMs: seconds * 1_000,
      perSecond: (accounts.length * perMinute) / 60,
    },
  );
}
