/**
 * Decides who may use the control port. A page of another site must not reach it through the user's
 * browser. Such a request carries another site's `Origin`; or, as an image or a script does,
 * `Sec-Fetch-Site`; or, after DNS rebinding, another `Host`.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { expectedToken, isControlToken } from '../config/control-token.ts';
import { type ControlRequest, ListenError } from '../http/transport/transport.ts';

export interface GuardOptions {
  /** The address that the control port was bound to. */
  readonly host: string;
  /** Required of every request when set; without it, only this machine is served. */
  readonly token: string | undefined;
  /**
   * Names that `Host` may carry besides the bound host and loopback names, such as a container's
   * name.
   */
  readonly allowedHosts?: readonly string[] | undefined;
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly code: 'unauthorized' | 'forbidden';
  readonly message: string;
}

/** Of every reply: a page of another site can neither embed it nor read it as a script. */
export const controlHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
};

/** The refusal of this request, or undefined if it may pass. */
export type Guard = (request: ControlRequest) => Refusal | undefined;

/** Throws a ListenError if no request could ever carry the token. */
export function createGuard({ host, token, allowedHosts = [] }: GuardOptions): Guard {
  if (token !== undefined && !isControlToken(token)) {
    throw new ListenError(`control token: ${expectedToken}${token === '' ? '; it is empty' : ''}`);
  }
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  const ownHost = bareHost(host.toLowerCase());
  const isWildcard = ownHost === '0.0.0.0' || ownHost === '::';
  const tokenDigest = token === undefined ? undefined : digest(token);

  // A port bound to every address may be addressed by any IP; a rebound name is never an IP.
  const isOwn = (name: string) =>
    name === ownHost ||
    isLoopbackName(name) ||
    allowed.has(name) ||
    (isWildcard && isIP(name) !== 0);

  return (request) => {
    const { headers, clientIp, authorization } = request;
    const asked = headers['host']?.toLowerCase();
    const name = asked === undefined ? undefined : hostName(asked);
    if (name === undefined) return forbidden('the Host header is missing or malformed');
    if (!isOwn(name)) {
      return forbidden(
        `the Host ${name} is not allowed; start with --control-allowed-host ${name}`,
      );
    }
    const origin = headers['origin']?.toLowerCase();
    if (origin !== undefined && origin !== `http://${asked}`) {
      return forbidden('the Origin is another site');
    }
    const site = headers['sec-fetch-site'] ?? 'none';
    if (site !== 'none' && site !== 'same-origin' && !opensPage(request)) {
      return forbidden(`the request comes from another site (Sec-Fetch-Site: ${site})`);
    }
    if (tokenDigest === undefined) {
      return isLoopbackAddress(clientIp)
        ? undefined
        : forbidden('only this machine is served; for others, start with a --control-token');
    }
    const given = /^bearer[ \t]+(\S+)$/i.exec(authorization ?? '')?.[1];
    if (given !== undefined && timingSafeEqual(digest(given), tokenDigest)) return undefined;
    return {
      status: 401,
      code: 'unauthorized',
      message: 'expected `Authorization: Bearer <token>` with the control token',
    };
  };
}

/** A link on another site may open the page in a tab. It then loads its data from its own origin. */
function opensPage({ method, path, headers }: ControlRequest): boolean {
  return (
    method === 'GET' &&
    path === '/' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document'
  );
}

function forbidden(message: string): Refusal {
  return { status: 403, code: 'forbidden', message };
}

/** The name in a `Host` header, without its port; undefined if it is malformed. */
function hostName(header: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/.exec(header);
  return match?.[1] === undefined ? undefined : bareHost(match[1]);
}

function bareHost(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || isLoopbackAddress(name);
}

/** Both spellings of `::1`: the transports print it differently. */
function isLoopbackAddress(address: string): boolean {
  if (isIP(address) === 4) return address.startsWith('127.');
  return isIP(address) === 6 && /^(?:0*:)*:?0*1$/.test(address);
}

/** Digests have equal lengths, so the time of the comparison reveals neither length nor content. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
