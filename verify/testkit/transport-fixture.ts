/**
 * For tests: opens transports of either kind on a free port and closes all of them afterwards,
 * because an open one would keep the test process running.
 */
import { afterEach, expect, test } from 'vitest';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import {
  nodeTransport,
  openTransport,
  type TransportKind,
  whyNoNativeServer,
} from '#src/http/transport/open-transport.ts';
import type { PortService, Transport, TransportOptions } from '#src/http/transport/transport.ts';
import { get, RawSocket } from './processes/raw-socket.ts';

/**
 * The reason why the native transport cannot be tested, for test names; empty if it can, and in CI.
 */
const whyNotNative = process.env['CI'] === undefined ? await whyNoNativeServer() : undefined;
export const withoutNative = whyNotNative === undefined ? '' : ` (${whyNotNative})`;

export const kinds: readonly TransportKind[] =
  withoutNative === '' ? ['hyperexpress', 'node'] : ['node'];

const running: Transport[] = [];
const sockets: RawSocket[] = [];

export async function stopAll(): Promise<void> {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(running.splice(0).map((transport) => transport.close(0)));
}

afterEach(stopAll);

export function both(name: string, run: (kind: TransportKind) => Promise<void>): void {
  test.each(kinds)(`%s: ${name}`, run);
}

/** Listens with a transport of this kind, which is closed after the test. */
export async function start(
  kind: TransportKind,
  serve: PortService,
  options: TransportOptions = {},
  port = 0,
): Promise<{ transport: Transport; port: number }> {
  const { transport, kind: opened } =
    'control' in serve
      ? { transport: await nodeTransport(serve, options), kind: 'node' }
      : await openTransport(kind, serve, options);
  expect(opened).toBe(kind);
  running.push(transport);
  return { transport, port: await transport.listen(port, '127.0.0.1') };
}

/** Opens a connection that is closed after the test. */
export async function dial(port: number, host?: string, allowHalfOpen = false): Promise<RawSocket> {
  const socket = await RawSocket.open(port, host, allowHalfOpen);
  sockets.push(socket);
  return socket;
}

/** Expects that a fresh connection to a server that echoes is answered. */
export async function expectAlive(port: number): Promise<void> {
  const socket = await dial(port);
  await socket.write(get('/alive'));
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ path: '/alive' });
}

/** Answers 200 with the request that it received. */
export function echo(request: ApiRequest): ApiReply {
  const { method, path, query, authorization, clientIp, forwardedFor } = request;
  const { contentType, contentEncoding, headers } = request;
  const head = { method, path, query, authorization, contentType, contentEncoding };
  const body = Buffer.from(request.body).toString();
  const traceparent = headers?.['traceparent'];
  return {
    status: 200,
    body: JSON.stringify({ ...head, clientIp, forwardedFor, traceparent, body }),
  };
}
