/**
 * Checks before a long load that a running service answers and accepts the key.
 * Exit code 3: no answer; 2: the key is refused.
 */

import { get } from 'node:http';
import { CommandError, UsageError } from '../src/config/command-error.ts';
import { routeOf } from '../src/operations/table.ts';
import type { BenchOptions } from './options.ts';

const notReachable = 3;

const patienceMs = 10_000;

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

/** Uses Node's own client: `fetch` refuses several ports that a service may use. */
function statusOf(url: URL, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false, timeout: patienceMs }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    const refuse = (why: string): void =>
      reject(new CommandError(notReachable, `${url.origin} is not reachable: ${why}`));
    request.on('timeout', () => {
      refuse(`no answer within ${patienceMs / 1_000} s`);
      request.destroy();
    });
    request.on('error', (error: NodeJS.ErrnoException) => refuse(error.code ?? error.message));
  });
}
