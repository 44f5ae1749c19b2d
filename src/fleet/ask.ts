/**
 * One request to a control port, on a connection of its own: a kept one may end as it is used, and
 * an operation must not be sent twice.
 */
import { type IncomingMessage, type RequestOptions, request } from 'node:http';

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
    super(cause instanceof Error ? cause.message : String(cause));
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
