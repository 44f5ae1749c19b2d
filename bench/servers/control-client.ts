/**
 * A simulator elsewhere, over its control port: makes callers of the bench's own there, and removes them.
 */
import type { RequestView } from '../../src/operations/requests.ts';

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
    const account = await this.#call('POST', '/control/accounts', {
      name,
      monthly_quota: 'unlimited',
    });
    const accountId = String(account['account_id']);
    const path = `/control/accounts/${accountId}`;
    const apiKeys: string[] = [];
    for (let n = 0; n < keys; n++) {
      const made = await this.#call('POST', `${path}/keys`, { name: `bench-${n}` });
      apiKeys.push(String(made['key']));
    }
    await this.#call('POST', `${path}/sims`, { number });
    return { accountId, apiKeys, from: number };
  }

  async deleteUser({ accountId }: RemoteUser): Promise<void> {
    await this.#call('DELETE', `/control/accounts/${accountId}`);
  }

  /** The last requests, oldest first. */
  async requests(): Promise<readonly RequestView[]> {
    const { requests } = await this.#call('GET', '/control/requests?limit=1000');
    return (requests as RequestView[]).toReversed();
  }

  async rssBytes(): Promise<number> {
    const { memory } = await this.#call('GET', '/control/state');
    return (memory as { rss_bytes: number }).rss_bytes;
  }

  async #call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
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

/** A name and a number that no earlier run has left behind. */
export function unusedName(): { readonly name: string; readonly number: string } {
  const run = `${Date.now()}`.slice(-7);
  return { name: `bench-${run}-${process.pid}`, number: `+1212${run}` };
}
