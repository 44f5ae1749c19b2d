/**
 * The service under load: a simulator that the bench starts in a child process, or a running
 * service (`base_url`). The CPU of a running service cannot be measured, and its memory only over a
 * control port.
 */
import { UsageError } from '#io/command-error.ts';
import { describe } from '#judging/service/expectations.ts';
import { sendTemplate } from '../load/workload.ts';
import type { BenchOptions } from '../options.ts';
import type { BenchCase } from '../scenarios/bench-case.ts';
import { boundedClient, ControlClient, unusedName } from './control-client.ts';
import { type LoadedServer, startServer } from './server-process.ts';

/** The messages that a case of reads needs. A running service gets no more than these. */
const fewestRead = 200;

export async function startService(
  { settings, reads }: BenchCase,
  options: BenchOptions,
): Promise<LoadedServer> {
  const { baseUrl, held } = options;
  if (baseUrl !== undefined) return remoteService(baseUrl, options, reads ? fewestRead : 0);
  const preload = reads ? Math.max(held, fewestRead) : held;
  return startServer({ kind: 'simulator', settings, preload });
}

async function remoteService(
  baseUrl: URL,
  options: BenchOptions,
  count: number,
): Promise<LoadedServer> {
  const control = controlOf(options);
  const { name, number } = unusedName();
  const user = options.apiKey ? undefined : await control?.createUser(name, number, 1);
  const apiKey = options.apiKey ?? user?.apiKeys[0] ?? '';
  const from = options.from ?? user?.from ?? '';
  return {
    // A socket takes an IPv6 address without the brackets that a URL has.
    target: { host: baseUrl.hostname.replace(/^\[|\]$/g, ''), port: Number(baseUrl.port || 80) },
    started: { apiKey, from, startDurationMs: Number.NaN },
    messageIds: await sendMessages(baseUrl, count, { apiKey, from, to: options.to }),
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

/** Sends up to `count` messages, as many as the service accepts, and returns their ids. */
async function sendMessages(
  baseUrl: URL,
  count: number,
  { apiKey, from, to }: Readonly<Record<'apiKey' | 'from' | 'to', string>>,
): Promise<readonly string[]> {
  const request = sendTemplate(apiKey, { to, from, message: 'Preloaded by the bench.' });
  const messageIds: string[] = [];
  const client = boundedClient(baseUrl);
  while (messageIds.length < count) {
    const reply = await client.request(request);
    const id = Object(reply.json).message_id as unknown;
    // The id becomes part of a path.
    const isUsable = reply.status === 202 && typeof id === 'string' && /^[\w-]+$/.test(id);
    if (isUsable) messageIds.push(id);
    else if (messageIds.length > 0) break;
    else {
      const answer = `${baseUrl.origin} answered a send from ${from} with ${describe(reply)}`;
      throw new UsageError(`${answer}; expected 202 with a message_id`);
    }
  }
  client.close();
  return messageIds;
}

/** Undefined without `--control-url`. */
export function controlOf(options: BenchOptions): ControlClient | undefined {
  return options.controlUrl && new ControlClient(options.controlUrl, options.controlToken);
}
