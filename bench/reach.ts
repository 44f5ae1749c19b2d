/**
 * Checks before a long load that a running service answers and accepts the key.
 * Exit code 3: no answer; 2: the key is refused.
 */

import { CommandError, UsageError } from '../src/commands/command-error.ts';
import { routeOf } from '../src/operations/table.ts';
import type { BenchOptions } from './options.ts';
import { boundedClient, patienceMs } from './servers/control-client.ts';

const notReachable = 3;

export async function reach({ baseUrl, controlUrl, apiKey }: BenchOptions): Promise<void> {
  if (baseUrl === undefined) return;
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const status = await statusOf(new URL('/api/v1/account/stats/', baseUrl), headers);
  if (apiKey !== undefined && status === 401) {
    throw new UsageError(`--api-key: ${baseUrl.origin} refuses this key (401)`);
  }
  if (controlUrl === undefined) return;
  const { path } = routeOf('simulator.health');
  const health = await statusOf(new URL(path, controlUrl), {});
  if (health !== 200) {
    throw new CommandError(
      notReachable,
      `${controlUrl.origin} is not a control port: ${path} answered ${health}`,
    );
  }
}

/** Not by `fetch`, which refuses several ports that a service may use. */
async function statusOf(url: URL, headers: Readonly<Record<string, string>>): Promise<number> {
  const client = boundedClient(url);
  const reply = await client.request({ method: 'GET', path: url.pathname, headers });
  client.close();
  if (reply.status !== 0) return reply.status;
  const { failure = 'no reply' } = reply;
  const why = failure === 'timed out' ? `no answer within ${patienceMs / 1_000} s` : failure;
  throw new CommandError(notReachable, `${url.origin} is not reachable: ${why}`);
}
