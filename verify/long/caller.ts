/** The HTTP client of long runs, which lose connections: an incomplete answer is undefined. */
import { Agent, request } from 'undici';
import { type OperationName, routeOf } from '#src/operations/table.ts';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly key?: string | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

export class Caller {
  #dispatcher = new Agent({ connections: 200 });

  /** Undefined if no complete answer arrived. */
  async call(baseUrl: string, call: Call): Promise<Answer | undefined> {
    const { method, path, key, body = null, contentType = 'application/json' } = call;
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== null && { 'content-type': contentType }),
    };
    const options = { dispatcher: this.#dispatcher, method, headers, body };
    try {
      const reply = await request(`${baseUrl}${path}`, options);
      const retryAfter = reply.headers['retry-after']?.toString();
      return { status: reply.statusCode, body: await reply.body.text(), retryAfter };
    } catch {
      return undefined;
    }
  }

  /**
   * Carries out a control operation; an unexpected answer is an error. `idOrQuery`: the id in the
   * path, or a query from its `?` on. A `body` of text is JSON already.
   */
  async ask<T>(
    controlUrl: string,
    name: OperationName,
    idOrQuery = '',
    body?: object | string,
  ): Promise<T> {
    const [id = '', query] = idOrQuery.split('?');
    const { method, path } = routeOf(name, id);
    const target = query === undefined ? path : `${path}?${query}`;
    const json = typeof body === 'object' ? JSON.stringify(body) : body;
    const answer = await this.call(controlUrl, { method, path: target, body: json });
    if (answer !== undefined && answer.status < 300) return JSON.parse(answer.body || '{}') as T;
    throw new Error(`${name}: ${answer?.status} ${answer?.body.slice(0, 300)}`);
  }

  leave(): void {
    void this.#dispatcher.destroy();
    this.#dispatcher = new Agent({ connections: 200 });
  }
}
