/**
 * Reads the head of a request of Node's HTTP server, duplicate headers and unknown methods
 * included, as the native transport does.
 */
import { IncomingMessage, METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { plainIp } from '../../plain-ip.ts';
import type { ControlRequest } from '../transport.ts';

/** A request whose body is still to come. */
export type Draft = { -readonly [K in keyof ControlRequest]: ControlRequest[K] };

/** Reads the raw list of headers, in which the last duplicate counts: Node joins or drops some. */
export function readHead(incoming: IncomingMessage): Draft {
  const headers: Record<string, string> = {};
  let differentAuthorizations = 0;
  const raw = incoming.rawHeaders;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    const value = raw[index + 1] ?? '';
    const isOther = name === 'authorization' && headers['authorization'] !== value;
    if (isOther) differentAuthorizations++;
    headers[name] = value;
  }
  const url = originForm(incoming.url ?? '');
  const mark = url.indexOf('?');
  return {
    method: incoming.method ?? '',
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    host: headers['host'],
    authorization: differentAuthorizations === 1 ? headers['authorization'] : undefined,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    clientIp: plainIp(incoming.socket.remoteAddress ?? ''),
    forwardedFor: headers['x-forwarded-for'],
    body: '',
    headers,
  };
}

/** True if the request has exactly one `Host`; in HTTP/1.0 it may also have none. */
export function hasRightHosts({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts++;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Path and query of a target, which is an absolute URL if the client takes this for a proxy. */
function originForm(target: string): string {
  const scheme = /^https?:\/\/[^/?]*/i.exec(target)?.[0];
  if (scheme === undefined) return target;
  const path = target.slice(scheme.length);
  return path.startsWith('/') ? path : `/${path}`;
}

/** A request line with any method, and its header lines, up to the empty line. */
const unusualHead =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/(1\.[01])((?:\r\n[^\r\n]+)*)\r\n\r\n/;

/**
 * Reads the head of a request whose method Node's parser refuses, such as `get` or `FOO`: the
 * handler decides about methods. `parsedBytes`: how far the parser read the packet. Undefined if
 * the packet does not hold the whole head.
 */
export function readUnusualMethod(
  packet: Buffer | undefined,
  parsedBytes: number,
  socket: Socket,
): IncomingMessage | undefined {
  if (packet === undefined) return undefined;
  const start = parsedBytes === 0 ? 0 : packet.lastIndexOf('\n', parsedBytes) + 1;
  const parts = unusualHead.exec(packet.toString('latin1', start));
  if (parts === null) return undefined;
  const [, method = '', url = '', version = '', lines = ''] = parts;
  // Then `start` is wrong: the body of the request before, which ends without a line break, would
  // count as a part of this method.
  if (parsedBytes > start + method.length || METHODS.includes(method)) return undefined;
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
