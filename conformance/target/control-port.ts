/**
 * Calls operations of a simulator's control port by name. The harness does not know the simulator,
 * so it reads their paths from the port's OpenAPI document.
 */
import { isObject } from '#contract/request-and-reply.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { describe } from '#judging/service/expectations.ts';
import { bearerHeader, Client } from './client.ts';
import type { Masks } from './masks.ts';

/** An operation of the control port failed. This says nothing about the rules. */
export class ControlFailed extends Error {}

export interface ControlPortSettings {
  readonly url: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly masks: Masks;
}

interface OperationArguments {
  /** The id in the operation's path. */
  readonly id?: string | undefined;
  readonly input?: unknown;
}

interface Route {
  readonly method: string;
  readonly path: string;
}

/** The only path of a control port that is fixed here. */
const documentPath = '/control/openapi.json';

/** A jump of the clock may take longer than any reply of the service. */
const leastTimeoutMs = 30_000;

/** Room for the largest list of a control port. */
const maxBodyBytes = 16_777_216;

export class ControlPort {
  readonly #client: Client;
  readonly #masks: Masks;
  readonly #headers: Readonly<Record<string, string>>;
  #operations: ReadonlyMap<string, Route> = new Map();

  constructor({ url, token, timeoutMs, masks }: ControlPortSettings) {
    this.#client = new Client({
      baseUrl: url,
      timeoutMs: Math.max(timeoutMs, leastTimeoutMs),
      masks,
      retries: false,
      maxBodyBytes,
    });
    this.#masks = masks;
    this.#headers = bearerHeader(token);
  }

  /** Reads the paths of operations, which `call` needs. Throws a ControlFailed. */
  async discover(): Promise<void> {
    const headers = this.#headers;
    const reply = await this.#client.request({ method: 'GET', path: documentPath, headers });
    const paths = isObject(reply.json) ? reply.json['paths'] : undefined;
    if (!isObject(paths)) throw this.failed(`GET ${documentPath}`, reply);
    this.#operations = new Map(
      Object.entries(paths).flatMap(([path, item]) => routesAt(path, item)),
    );
  }

  /** Calls an operation. `input`: the query of a GET or DELETE, otherwise the body. */
  async call(operation: string, { id = '', input }: OperationArguments = {}): Promise<Reply> {
    const route = this.#operations.get(operation);
    if (route === undefined)
      throw new ControlFailed(`no operation ${operation}; is it a simulator of this version?`);
    const { method } = route;
    const path = route.path.replace(/\{\w+\}/, encodeURIComponent(id));
    const headers = this.#headers;
    if (input === undefined) return this.#client.request({ method, path, headers });
    if (method === 'GET' || method === 'DELETE')
      return this.#client.request({ method, path: `${path}${queryOf(input)}`, headers });
    return this.#client.request({
      method,
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
  }

  /**
   * Calls an operation that must succeed, otherwise throws a ControlFailed. Returns its JSON object,
   * or `{}`.
   */
  async must(operation: string, args: OperationArguments = {}): Promise<Record<string, unknown>> {
    const reply = await this.call(operation, args);
    if (reply.status < 200 || reply.status > 299) throw this.failed(operation, reply);
    return isObject(reply.json) ? reply.json : {};
  }

  /** The error for a reply that shows that `what` failed. */
  failed(what: string, reply: Reply): ControlFailed {
    return new ControlFailed(`${what}: ${this.#masks.clean(describe(reply))}`);
  }

  close(): void {
    this.#client.close();
  }
}

/** The operations at one path of an OpenAPI document. */
function routesAt(path: string, methods: unknown): (readonly [operation: string, Route])[] {
  return Object.entries(Object(methods)).flatMap(([method, operation]) => {
    const id: unknown = Object(operation).operationId;
    return typeof id === 'string' ? [[id, { method: method.toUpperCase(), path }] as const] : [];
  });
}

function queryOf(input: unknown): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(Object(input))) query.set(name, String(value));
  return `?${query}`;
}
