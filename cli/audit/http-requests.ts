/**
 * The requests of `smstwin audit` over HTTP. Each caller has its own connections: values of a
 * header stand for callers, and so do other addresses of this machine. A request is never sent
 * again.
 */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Headers, Reply, Subject } from '#audit/run.ts';

export interface Template {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** How a caller differs from the first one. */
export interface Caller {
  readonly name: string;
  readonly headers?: Headers;
  /** The address of this machine from which it asks. */
  readonly localAddress?: string;
  /** What makes it another caller, such as `header:authorization` or `address`. */
  readonly differsBy: string;
}

/** So that the owner of a target sees whose requests they are. */
const userAgent = 'smstwin-audit (rate limit audit)';

export class HttpRequests {
  readonly #url: URL;
  readonly #template: Template;
  readonly #callers: ReadonlyMap<string, Caller>;
  readonly #patienceMs: number;
  readonly #agents = new Map<string, PlainAgent | SecureAgent>();

  constructor(url: URL, template: Template, callers: readonly Caller[], patienceMs: number) {
    this.#url = url;
    this.#template = template;
    this.#callers = new Map(callers.map((caller) => [caller.name, caller]));
    this.#patienceMs = patienceMs;
  }

  readonly request = ({ caller: name, path }: Subject): Promise<Reply> => {
    const caller = this.#callers.get(name);
    const { method, headers, body } = this.#template;
    const isSecure = this.#url.protocol === 'https:';
    const target = new URL(path, this.#url);
    return new Promise((resolve) => {
      const fail = () => resolve({ status: 0, headers: {} });
      const options = {
        method,
        agent: this.#agentOf(name, isSecure),
        headers: {
          'user-agent': userAgent,
          ...headers,
          ...caller?.headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
        ...(caller?.localAddress !== undefined && { localAddress: caller.localAddress }),
      };
      const onReply = (reply: IncomingMessage) => {
        reply.resume();
        reply.on('end', () =>
          resolve({ status: reply.statusCode ?? 0, headers: textsOf(reply.headers) }),
        );
        reply.on('error', fail);
      };
      const sent = (isSecure ? secureRequest : plainRequest)(target, options, onReply);
      sent.setTimeout(this.#patienceMs, () => sent.destroy(new Error('no reply')));
      sent.on('error', fail);
      sent.end(body);
    });
  };

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #agentOf(name: string, isSecure: boolean): PlainAgent | SecureAgent {
    const known = this.#agents.get(name);
    if (known !== undefined) return known;
    const agent = new (isSecure ? SecureAgent : PlainAgent)({ keepAlive: true });
    this.#agents.set(name, agent);
    return agent;
  }
}

function textsOf(headers: IncomingMessage['headers']): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value ?? '')]),
  );
}
