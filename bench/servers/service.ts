/**
 * The service under load: a simulator that the bench starts in a child process, or a running
 * service (`base_url`). The CPU of a running service cannot be measured, and its memory only over a
 * control port.
 */
import { describe } from '../../conformance/verify.ts';
import { UsageError } from '../../src/commands/command-error.ts';
import type { BenchOptions } from '../options.ts';
import type { BenchCase } from '../scenarios/bench-case.ts';
import { boundedClient, ControlClient, unusedName } from './control-client.ts';
import { type LoadedServer, startServer } from './server-process.ts';

export interface Service extends LoadedServer {
  readonly control: ControlClient | undefined;
}

/** The messages that a case of reads needs. A running service gets no more than these. */
const fewestRead = 200;

/** `needsControl`: if the bench starts the simulator, it opens a control port. */
export async function startService(
  { settings, reads }: BenchCase,
  options: BenchOptions,
  needsControl = false,
): Promise<Service> {
  const { baseUrl, held } = options;
  if (baseUrl !== undefined) return remoteService(baseUrl, options, reads ? fewestRead : 0);
  const preload = reads ? Math.max(held, fewestRead) : held;
  const server = await startServer({ kind: 'simulator', settings, preload, control: needsControl });
  const { controlUrl } = server.started;
  return { ...server, control: needsControl ? new ControlClient(new URL(controlUrl)) : undefined };
}

async function remoteService(baseUrl: URL, options: BenchOptions, count: number): Promise<Service> {
  const control = options.controlUrl && new ControlClient(options.controlUrl);
  const { name, number } = unusedName();
  const user =
    options.apiKey === undefined ? await control?.createUser(name, number, 1) : undefined;
  const apiKey = options.apiKey ?? user?.apiKeys[0] ?? '';
  const from = options.from ?? user?.from ?? '';
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
    control,
    usage: async () => {
      if (control === undefined) return undefined;
      const rssBytes = await control.rssBytes();
      return { kind: 'usage', cpuMicros: Number.NaN, rssBytes };
    },
    stop: async () => {
      if (user !== undefined) await control?.deleteUser(user);
    },
  };
}

const sendPath = '/api/v1/sms/send/';
