/**
 * One request to a control port, on a connection of its own: a kept one may end as it is used, and
 * an operation must not be sent twice.
 */
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { reasonOf } from '../config/plain-file.ts';
import type { ControlRequest } from '../http/transport/transport.ts';

export interface Asked {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The connection failed. `isSent`: the other side may have read the request. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
  readonly isSent: boolean;

  constructor(cause: unknown) {
    super(reasonOf(cause));
    this.isSent = !(cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED');
  }
}

/** Resolves once the head of the reply is there. Rejects with an Unanswered. */
export function open(url: string, asked: Asked, signal?: AbortSignal): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  const options: RequestOptions = {
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    method: asked.method,
    path: asked.path,
    agent: false,
    headers: {
      ...asked.headers,
      'content-length': String(Buffer.byteLength(asked.body ?? '')),
      connection: 'close',
    },
    ...(signal !== undefined && { signal }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, resolve);
    sent.once('error', (error) => reject(new Unanswered(error)));
    sent.end(asked.body);
  });
}

export async function ask(url: string, asked: Asked, signal?: AbortSignal): Promise<Answer> {
  const reply = await open(url, asked, signal);
  const pieces: Buffer[] = [];
  try {
    for await (const piece of reply) pieces.push(piece as Buffer);
  } catch (error) {
    throw new Unanswered(error);
  }
  const body = Buffer.concat(pieces).toString('utf8');
  return { status: reply.statusCode ?? 0, headers: reply.headers, body };
}

/** The same request for a shard. `prefix`: that of its world. */
export function askedOf(request: ControlRequest, prefix = '', query = request.query): Asked {
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

export function textOf({ body = '' }: Pick<Asked, 'body'>): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

/** The body as JSON; undefined if it is none: the shard says what is wrong. */
export function jsonOf(asked: Pick<Asked, 'body'>): unknown {
  const text = textOf(asked);
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
