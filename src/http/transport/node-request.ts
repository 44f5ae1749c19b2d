/**
 * Reads the head of a request of Node's HTTP server as the native transport does.
 */
import { IncomingMessage, METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { type ControlRequest, plainIp } from './transport.ts';

export type Draft = { -readonly [K in keyof ControlRequest]: ControlRequest[K] };

/** Node joins or drops duplicate headers, so this reads the raw list, where the last one counts. */
export function readHead(incoming: IncomingMessage): Draft {
  const headers: Record<string, string> = {};
  let authorizations = 0;
  const raw = incoming.rawHeaders;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    if (name === 'authorization' && headers['authorization'] !== value) authorizations += 1;
    headers[name] = value;
  }
  const url = originForm(incoming.url ?? '');
  const mark = url.indexOf('?');
  return {
    method: incoming.method ?? '',
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    host: headers['host'],
    authorization: authorizations === 1 ? headers['authorization'] : undefined,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    clientIp: plainIp(incoming.socket.remoteAddress ?? ''),
    forwardedFor: headers['x-forwarded-for'],
    body: '',
    headers,
  };
}

/** HTTP/1.1 requires exactly one Host; HTTP/1.0 requires none. */
export function hasItsHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Clients of proxies send an absolute URL as the target. */
function originForm(target: string): string {
  const scheme = /^https?:\/\/[^/?]*/i.exec(target)?.[0];
  if (scheme === undefined) return target;
  const rest = target.slice(scheme.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const unusualHead =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/(1\.[01])((?:\r\n[^\r\n]+)*)\r\n\r\n/;

/**
 * The request whose method Node's parser refuses, such as `get` or `FOO`; the handler decides about
 * it. `at` is the parser's position. Undefined if the packet does not hold the whole head.
 */
export function readUnusualMethod(
  packet: Buffer | undefined,
  at: number,
  socket: Socket,
): IncomingMessage | undefined {
  if (packet === undefined) return undefined;
  const start = at === 0 ? 0 : packet.lastIndexOf('\n', at) + 1;
  const parts = unusualHead.exec(packet.toString('latin1', start));
  if (parts === null) return undefined;
  const [, method = '', url = '', version = '', lines = ''] = parts;
  // A preceding body without a line break could complete a method.
  if (at > start + method.length || METHODS.includes(method)) return undefined;
  const incoming = new IncomingMessage(socket);
  incoming.method = method;
  incoming.url = url;
  incoming.httpVersion = version;
  for (const line of lines.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon < 1) return undefined;
    incoming.rawHeaders.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return incoming;
}
