/**
 * The control operations that the soak uses. Any unexpected answer fails the run.
 */
import { type OperationName, routeOf } from '../../src/operations/table.ts';
import type { FoundMessage } from './audit.ts';
import type { Caller } from './caller.ts';

const pageSize = 1_000;

export class Control {
  readonly #caller: Caller;
  readonly #url: string;

  constructor(caller: Caller, controlUrl: string) {
    this.#caller = caller;
    this.#url = controlUrl;
  }

  /** The simulated present in epoch milliseconds. */
  async now(): Promise<number> {
    return Date.parse((await this.#ask<{ now: string }>('clock.state')).now);
  }

  async scale(rate: number): Promise<void> {
    await this.#ask('clock.setMode', '', { mode: 'scaled', rate });
  }

  async hold(): Promise<void> {
    await this.#ask('clock.setMode', '', { mode: 'manual' });
  }

  /** Does nothing if the time is past. */
  async advanceTo(ms: number): Promise<void> {
    const leftMs = ms - (await this.now());
    if (leftMs > 0) await this.#ask('clock.advance', '', { by: `${leftMs}ms` });
  }

  async reset(): Promise<void> {
    await this.#ask('simulator.reset');
  }

  async addFault(fault: object): Promise<void> {
    await this.#ask('faults.add', '', fault);
  }

  async clearFaults(): Promise<void> {
    await this.#ask('faults.clear');
  }

  async createKey(accountId: string): Promise<string> {
    return (await this.#ask<{ key: string }>('accounts.createKey', accountId, { name: 'soak' }))
      .key;
  }

  async keyIds(accountId: string): Promise<string[]> {
    const { keys } = await this.#ask<{ keys: { key_id: string }[] }>('accounts.keys', accountId);
    return keys.map((key) => key.key_id);
  }

  /** Adds an inbound message. */
  async receive(accountId: string, number: string): Promise<void> {
    const message = { from: '+12025550123', to: number, message: 'inbound' };
    await this.#ask('sims.receive', accountId, message);
  }

  async messages(): Promise<FoundMessage[]> {
    const found: FoundMessage[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = `?limit=${pageSize}${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page: { messages: FoundMessage[]; next_cursor: string | null } = await this.#ask(
        'messages.page',
        query,
      );
      found.push(...page.messages);
      cursor = page.next_cursor;
    }
    return found;
  }

  snapshot(): Promise<string> {
    return this.#text('snapshots.take');
  }

  async restore(snapshot: string): Promise<void> {
    await this.#text('snapshots.restore', '', snapshot);
  }

  async #ask<T>(name: OperationName, rest = '', body?: object): Promise<T> {
    const text = await this.#text(name, rest, body && JSON.stringify(body));
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  /** `rest`: the id in the path, or a query. */
  async #text(name: OperationName, rest = '', body?: string): Promise<string> {
    const isQuery = rest.startsWith('?');
    const { method, path } = routeOf(name, isQuery ? '' : rest);
    const target = isQuery ? `${path}${rest}` : path;
    const answer = await this.#caller.call(this.#url, { method, path: target, body });
    if (answer !== undefined && answer.status < 300) return answer.body;
    throw new Error(`${name}: ${answer?.status} ${answer?.body.slice(0, 300)}`);
  }
}
