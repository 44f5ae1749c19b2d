/**
 * Creates and removes the bench's callers on a running simulator, over its control port.
 */

import type { RequestView } from '../../src/operations/request-views.ts';
import { type OperationName, routeOf } from '../../src/operations/table.ts';
import { MetricsText } from './metrics-text.ts';

export interface RemoteUser {
  readonly accountId: string;
  readonly apiKeys: readonly string[];
  readonly from: string;
}

export class ControlClient {
  readonly #url: URL;

  constructor(url: URL) {
    this.#url = url;
  }

  /** An account with an unlimited plan, its keys and one SIM. */
  async createUser(name: string, number: string, keys: number): Promise<RemoteUser> {
    const account = await this.#call('accounts.create', '', { name, monthly_quota: 'unlimited' });
    const accountId = String(account['account_id']);
    const apiKeys: string[] = [];
    for (let n = 0; n < keys; n++) {
      const made = await this.#call('accounts.createKey', accountId, { name: `bench-${n}` });
      apiKeys.push(String(made['key']));
    }
    await this.#call('sims.create', accountId, { number });
    return { accountId, apiKeys, from: number };
  }

  async deleteUser({ accountId }: RemoteUser): Promise<void> {
    await this.#call('accounts.delete', accountId);
  }

  /** The last requests, oldest first. */
  async requests(): Promise<readonly RequestView[]> {
    const { requests } = await this.#call('requests.list');
    return (requests as RequestView[]).toReversed();
  }

  async rssBytes(): Promise<number> {
    const { memory } = await this.#call('simulator.state');
    return (memory as { rss_bytes: number }).rss_bytes;
  }

  async metrics(): Promise<MetricsText> {
    const { path } = routeOf('simulator.metrics');
    const response = await fetch(new URL(path, this.#url));
    if (!response.ok) throw new Error(`GET ${path} was answered ${response.status}`);
    return new MetricsText(await response.text());
  }

  async #call(name: OperationName, id = '', body?: unknown): Promise<Record<string, unknown>> {
    const { method, path } = routeOf(name, id);
    const response = await fetch(new URL(path, this.#url), {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }
}

/** A name and a number that no earlier run has used. */
export function unusedName(): { readonly name: string; readonly number: string } {
  const run = `${Date.now()}`.slice(-7);
  return { name: `bench-${run}-${process.pid}`, number: `+1212${run}` };
}
