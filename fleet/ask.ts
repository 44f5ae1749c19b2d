/**
 * Sends one request to the control port of a shard. Makes such requests from those to the fleet,
 * and the fleet's replies from the shards' replies. Each request opens a connection of its own: a
 * kept-alive one may close just as it is used, and an operation must not be sent twice.
 */
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { plainHost } from '#io/flag-values.ts';
import { jsonIn, reasonOf } from '#io/plain-file.ts';
import type { ControlReply, ControlRequest } from '#src/http/transport/transport.ts';

export interface ShardRequest {
  readonly method: string;
  /** The path on the control port, with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface ShardReply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The connection failed before the whole reply was read. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
  /** True if the shard may have read the request. */
  readonly isSent: boolean;

  constructor(cause: unknown, isSent: boolean) {
    super(reasonOf(cause));
    this.isSent = isSent;
  }
}

/** Resolves once the head of the reply has arrived. Rejects with an Unanswered. */
export function openReply(
  url: string,
  { method, path, headers, body }: ShardRequest,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  const options: RequestOptions = {
    hostname: plainHost(hostname),
    port,
    method,
    path,
    agent: false,
    headers: {
      ...headers,
      'content-length': String(Buffer.byteLength(body ?? '')),
      connection: 'close',
    },
    ...(signal !== undefined && { signal }),
  };
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const sent = request(options, resolve);
    sent.once('socket', (socket) =>
      socket.once('connect', () => {
        isConnected = true;
      }),
    );
    sent.once('error', (error) => reject(new Unanswered(error, isConnected)));
    sent.end(body);
  });
}

/** Resolves to the whole reply, whatever its status. Rejects with an Unanswered. */
export async function ask(
  url: string,
  shardRequest: ShardRequest,
  signal?: AbortSignal,
): Promise<ShardReply> {
  const reply = await openReply(url, shardRequest, signal);
  const pieces: Buffer[] = [];
  try {
    for await (const piece of reply) pieces.push(piece as Buffer);
  } catch (error) {
    throw new Unanswered(error, true);
  }
  const body = Buffer.concat(pieces).toString('utf8');
  return { status: reply.statusCode ?? 0, headers: reply.headers, body };
}

/**
 * Passes a request of the fleet's control port on. `prefix`: the path prefix of its world. `query`:
 * replaces that of the request.
 */
export function requestForShard(
  request: ControlRequest,
  {
    prefix = '',
    query = request.query,
  }: { readonly prefix?: string; readonly query?: string } = {},
): ShardRequest {
  const { method, path, headers, body } = request;
  const passed = ['accept', 'content-type', 'last-event-id'].flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  return {
    method,
    path: `${prefix}${path}${query === '' ? '' : `?${query}`}`,
    headers: Object.fromEntries(passed),
    body,
  };
}

/** The body as text; empty without a body. */
export function bodyText({ body = '' }: Pick<ShardRequest, 'body'>): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

/** The JSON value of a body: `{}` if it is empty, undefined if a shard will refuse it as no JSON. */
export function parseBody(request: Pick<ShardRequest, 'body'>): unknown {
  const text = bodyText(request);
  return text === '' ? {} : jsonIn(text);
}

/** The headers of a shard's reply that the fleet passes on, besides the content type. */
const passedHeaders = ['allow', 'www-authenticate', 'retry-after'] as const;

export function passedReply({ status, headers: received, body }: ShardReply): ControlReply {
  const headers: Record<string, string> = {};
  for (const name of passedHeaders) {
    const value = received[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const contentType = received['content-type'] ?? '';
  return contentType === '' || contentType.startsWith('application/json')
    ? { status, body, headers }
    : { status, content: body, contentType, headers };
}

export function okReply(body: unknown): ControlReply {
  return { status: 200, body: JSON.stringify(body) };
}

/** The reply of a shard, with `change` applied to the JSON value of its body. */
export function changedReply<T>(reply: ShardReply, change: (value: T) => unknown): ControlReply {
  const body = JSON.stringify(change(JSON.parse(reply.body) as T));
  return passedReply({ ...reply, body });
}
