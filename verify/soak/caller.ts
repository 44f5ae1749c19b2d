/**
 * The soak's HTTP client. A truncated, malformed or missing answer is undefined; the caller decides
 * whether that is permitted.
 */
import { Agent, request } from 'node:http';

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
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 200 });

  /** Undefined if no complete answer arrived. */
  call(baseUrl: string, call: Call): Promise<Answer | undefined> {
    const { method, path, key, body, contentType = 'application/json' } = call;
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && {
        'content-type': contentType,
        'content-length': Buffer.byteLength(body),
      }),
    };
    return new Promise((resolve) => {
      const sent = request(`${baseUrl}${path}`, { method, headers, agent: this.#agent });
      sent.on('error', () => resolve(undefined));
      sent.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', () => resolve(undefined));
        response.on('close', () => {
          if (!response.complete) resolve(undefined);
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(parts).toString(),
            retryAfter: response.headers['retry-after'],
          });
        });
      });
      sent.end(body);
    });
  }

  /** Closes its idle connections. */
  leave(): void {
    this.#agent.destroy();
  }
}
