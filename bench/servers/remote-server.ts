/**
 * A running service. Its CPU cannot be measured; its memory only over a control port.
 */
import { describe } from '../../conformance/verify.ts';
import { UsageError } from '../../src/commands/command-error.ts';
import type { BenchOptions } from '../options.ts';
import type { BenchCase } from '../scenarios/bench-case.ts';
import { boundedClient, ControlClient, unusedName } from './control-client.ts';
import type { LoadedServer } from './server-process.ts';

export async function remoteServer(
  baseUrl: URL,
  options: BenchOptions,
  { reads }: Pick<BenchCase, 'reads'>,
): Promise<LoadedServer> {
  const control = options.controlUrl && new ControlClient(options.controlUrl);
  const { name, number } = unusedName();
  const user =
    options.apiKey === undefined ? await control?.createUser(name, number, 1) : undefined;
  const apiKey = options.apiKey ?? user?.apiKeys[0] ?? '';
  const from = options.from ?? user?.from ?? '';
  const count = reads ? fewestRead : 0;
  const body = JSON.stringify({ to: options.to, from, message: 'Preloaded by the bench.' });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const messageIds: string[] = [];
  const client = boundedClient(baseUrl);
  for (let n = 0; n < count; n++) {
    const reply = await client.request({ method: 'POST', path: sendPath, headers, body });
    const id = Object(reply.json).message_id as unknown;
    if (reply.status === 202 && typeof id === 'string' && /^[\w-]+$/.test(id)) messageIds.push(id);
    else if (messageIds.length === 0)
      throw new UsageError(
        `${baseUrl.origin} answered a send from ${from} with ${describe(reply)}; expected 202 with a message_id`,
      );
    else break;
  }
  client.close();
  return {
    target: { host: baseUrl.hostname.replace(/^\[|\]$/g, ''), port: Number(baseUrl.port || 80) },
    started: { apiKey, from, startedMs: Number.NaN },
    messageIds,
    usage: async () => {
      if (control === undefined) return undefined;
      const rssBytes = await control.rssBytes();
      return { kind: 'usage', cpuMicros: Number.NaN, rssBytes, heapBytes: Number.NaN };
    },
    stop: async () => {
      if (user !== undefined) await control?.deleteUser(user);
    },
  };
}

const sendPath = '/api/v1/sms/send/';

/** Reads need some messages; a service that is not our own gets no more than these. */
export const fewestRead = 200;
