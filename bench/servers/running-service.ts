/**
 * A service that the bench has not started (`base_url`): the messages and callers that a load needs
 * there, made by single requests or over its control port. The CPU of such a service cannot be
 * measured, and its memory only over the control port.
 */
import { bearerHeader, Client } from '#conformance/target/client.ts';
import { Masks } from '#conformance/target/masks.ts';
import { CommandError, UsageError } from '#io/command-error.ts';
import { plainHost } from '#io/flag-values.ts';
import { describe } from '#judging/service/expectations.ts';
import type { RequestView } from '#src/operations/requests/request-views.ts';
import { type OperationName, routeOf } from '#src/operations/table.ts';
import { sendTemplate } from '../load/workload.ts';
import type { BenchOptions } from '../options.ts';
import type { LoadedServer } from './server-process.ts';

/** The exit code of a run whose base_url or control port cannot be used. */
export const notReachable = 3;
/** A reply of a running service that takes longer counts as none. */
export const replyTimeoutMs = 10_000;

/** The service, with an account of the bench if it has a control port and no key is given. */
export async function runningService(
  baseUrl: URL,
  options: BenchOptions,
  messageCount: number,
): Promise<LoadedServer> {
  const control = controlOf(options);
  const { name, number } = unusedName();
  const account = options.apiKey ? undefined : await control?.createAccount(name, number, 1);
  const apiKey = options.apiKey ?? account?.apiKeys[0] ?? '';
  const from = options.from ?? account?.from ?? '';
  const stop = async () => {
    if (account !== undefined) await control?.deleteAccount(account);
  };
  const sends = sendMessages(baseUrl, messageCount, { apiKey, from, to: options.to });
  return {
    target: { host: plainHost(baseUrl.hostname), port: Number(baseUrl.port || 80) },
    started: { apiKey, from, startDurationMs: Number.NaN },
    // Without them the run ends here, and its account must not stay on the service.
    messageIds: await sends.catch(async (error) => {
      await stop();
      throw error;
    }),
    usage: async () => {
      if (control === undefined) return undefined;
      const rssBytes = await control.rssBytes();
      return { kind: 'usage', cpuMicros: Number.NaN, rssBytes };
    },
    stop,
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
  try {
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
    return messageIds;
  } finally {
    client.close();
  }
}

/**
 * A client for single requests to a running service or its control port. It is bounded in time and
 * size, because the service may answer anything.
 */
export function boundedClient({ origin }: URL, maxBodyBytes?: number): Client {
  const bound = maxBodyBytes === undefined ? {} : { maxBodyBytes };
  const masks = new Masks();
  return new Client({
    baseUrl: origin,
    timeoutMs: replyTimeoutMs,
    masks,
    retries: false,
    ...bound,
  });
}

/** Undefined without `--control-url`. */
export function controlOf(options: BenchOptions): ControlClient | undefined {
  return options.controlUrl && new ControlClient(options.controlUrl, options.controlToken);
}

/** An account that the bench has created, with the number of its SIM. */
export interface RemoteAccount {
  readonly accountId: string;
  readonly apiKeys: readonly string[];
  readonly from: string;
}

/** Enough for a thousand recorded requests. */
const mostBytes = 16_777_216;

/** Creates and removes accounts on a control port, and reads its record of requests and memory. */
export class ControlClient {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #client: Client;

  constructor(url: URL, token: string | undefined) {
    this.#url = url;
    this.#headers = bearerHeader(token);
    this.#client = boundedClient(url, mostBytes);
  }

  /** An account with an unlimited plan, its keys and one SIM. */
  async createAccount(name: string, number: string, keyCount: number): Promise<RemoteAccount> {
    const account = await this.#call('accounts.create', '', { name, monthly_quota: 'unlimited' });
    const accountId = String(account['account_id']);
    const apiKeys: string[] = [];
    for (let n = 0; n < keyCount; n++) {
      const made = await this.#call('accounts.createKey', accountId, { name: `bench-${n}` });
      apiKeys.push(String(made['key']));
    }
    await this.#call('sims.create', accountId, { number });
    return { accountId, apiKeys, from: number };
  }

  async deleteAccount({ accountId }: RemoteAccount): Promise<void> {
    await this.#call('accounts.delete', accountId);
  }

  /** The record of requests, newest first. */
  async requests(): Promise<readonly RequestView[]> {
    const { requests } = await this.#call('requests.list');
    return requests as RequestView[];
  }

  async rssBytes(): Promise<number> {
    const { memory } = await this.#call('simulator.state');
    return (memory as { rss_bytes: number }).rss_bytes;
  }

  async #call(name: OperationName, id = '', body?: unknown): Promise<Record<string, unknown>> {
    const { method, path } = routeOf(name, id);
    const headers = { ...this.#headers, 'content-type': 'application/json' };
    const json = body !== undefined && { body: JSON.stringify(body), headers };
    const request = { method, path, headers: this.#headers, ...json };
    const reply = await this.#client.request(request);
    if (reply.status >= 200 && reply.status < 300) return Object(reply.json);
    const what = `${this.#url.origin}: ${method} ${path}`;
    throw new CommandError(notReachable, `${what} was answered ${describe(reply)}`);
  }
}

/**
 * A name for an account and a number for its SIM, which are unlikely to be in use: the seven digits
 * that a number has room for repeat every 2.8 hours.
 */
export function unusedName(): { readonly name: string; readonly number: string } {
  const run = `${Date.now()}`.slice(-7);
  return { name: `bench-${run}-${process.pid}`, number: `+1212${run}` };
}
