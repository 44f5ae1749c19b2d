/**
 * The control port, as far as the soak moves it. Everything it answers but what is asked for is a failure of the run.
 */
import type { FoundMessage } from './audit.ts';
import type { Caller } from './caller.ts';

const pageSize = 1_000;

export class Levers {
  readonly #caller: Caller;
  readonly #url: string;

  constructor(caller: Caller, controlUrl: string) {
    this.#caller = caller;
    this.#url = controlUrl;
  }

  /** Epoch milliseconds of the simulated present. */
  async now(): Promise<number> {
    return Date.parse((await this.#ask<{ now: string }>('GET', 'clock')).now);
  }

  async scale(rate: number): Promise<void> {
    await this.#ask('PUT', 'clock', { mode: 'scaled', rate });
  }

  async hold(): Promise<void> {
    await this.#ask('PUT', 'clock', { mode: 'manual' });
  }

  /** Nothing where that time is past. */
  async advanceTo(ms: number): Promise<void> {
    const leftMs = ms - (await this.now());
    if (leftMs > 0) await this.#ask('POST', 'clock/advance', { by: `${leftMs}ms` });
  }

  async reset(): Promise<void> {
    await this.#ask('POST', 'reset', {});
  }

  async addFault(fault: object): Promise<void> {
    await this.#ask('POST', 'faults', fault);
  }

  async clearFaults(): Promise<void> {
    await this.#ask('DELETE', 'faults');
  }

  async createKey(accountId: string): Promise<string> {
    const path = `accounts/${accountId}/keys`;
    return (await this.#ask<{ key: string }>('POST', path, { name: 'soak' })).key;
  }

  async keyIds(accountId: string): Promise<string[]> {
    const path = `accounts/${accountId}/keys`;
    const { keys } = await this.#ask<{ keys: { key_id: string }[] }>('GET', path);
    return keys.map((key) => key.key_id);
  }

  /** An inbound message. */
  async receive(accountId: string, number: string): Promise<void> {
    const message = { from: '+12025550123', to: number, message: 'inbound' };
    await this.#ask('POST', `accounts/${accountId}/received`, message);
  }

  async messages(): Promise<FoundMessage[]> {
    const found: FoundMessage[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: { messages: FoundMessage[]; next_cursor: string | null } = await this.#ask(
        'GET',
        `messages?limit=${pageSize}${query}`,
      );
      found.push(...page.messages);
      cursor = page.next_cursor;
    }
    return found;
  }

  snapshot(): Promise<string> {
    return this.#text('GET', 'snapshot');
  }

  async restore(snapshot: string): Promise<void> {
    await this.#text('PUT', 'snapshot', snapshot);
  }

  async #ask<T>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<T> {
    const text = await this.#text(method, path, body && JSON.stringify(body));
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  async #text(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: string) {
    const answer = await this.#caller.call(this.#url, { method, path: `/control/${path}`, body });
    if (answer !== undefined && answer.status < 300) return answer.body;
    throw new Error(`${method} /control/${path}: ${answer?.status} ${answer?.body.slice(0, 300)}`);
  }
}
