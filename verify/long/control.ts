/** The control operations that the soak uses. Any unexpected answer fails the run. */
import { type OperationName, routeOf } from '#src/operations/table.ts';
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
    return Date.parse((await this.ask<{ now: string }>('clock.state')).now);
  }

  async runClockAt(rate: number): Promise<void> {
    await this.ask('clock.setMode', '', { mode: 'scaled', rate });
  }

  async stopClock(): Promise<void> {
    await this.ask('clock.setMode', '', { mode: 'manual' });
  }

  /** Does nothing if the time is past. */
  async advanceTo(ms: number): Promise<void> {
    const leftMs = ms - (await this.now());
    if (leftMs > 0) await this.ask('clock.advance', '', { by: `${leftMs}ms` });
  }

  async keys(): Promise<readonly { readonly key_id: string; readonly account_id: string }[]> {
    return (await this.ask<{ keys: { key_id: string; account_id: string }[] }>('accounts.allKeys'))
      .keys;
  }

  async messages(): Promise<FoundMessage[]> {
    const found: FoundMessage[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = `?limit=${pageSize}${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page: { messages: FoundMessage[]; next_cursor: string | null } = await this.ask(
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

  /**
   * `idOrQuery`: the id in the path, or a query from its `?` on. A `body` of text is JSON already.
   */
  async ask<T>(name: OperationName, idOrQuery = '', body?: object | string): Promise<T> {
    const json = typeof body === 'object' ? JSON.stringify(body) : body;
    const text = await this.#text(name, idOrQuery, json);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  async #text(name: OperationName, idOrQuery = '', body?: string): Promise<string> {
    const isQuery = idOrQuery.startsWith('?');
    const { method, path } = routeOf(name, isQuery ? '' : idOrQuery);
    const target = isQuery ? `${path}${idOrQuery}` : path;
    const answer = await this.#caller.call(this.#url, { method, path: target, body });
    if (answer !== undefined && answer.status < 300) return answer.body;
    throw new Error(`${name}: ${answer?.status} ${answer?.body.slice(0, 300)}`);
  }
}
