/**
 * Decides who may use the control port. A page of another site must not reach it through the user's
 * browser. Three headers reveal such a request: `Origin` names the other site; `Sec-Fetch-Site`
 * says that it comes from one (as an image or a script); `Host` differs after DNS rebinding.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { ListenError } from '#io/command-error.ts';
import { isLoopback } from '#io/flag-values.ts';
import { bearerToken, expectedToken } from '../config/world-schema.ts';
import type { ControlRequest } from '../http/transport/transport.ts';

export interface GuardOptions {
  /** The address that the control port was bound to. */
  readonly host: string;
  /** Every request must carry it. If undefined, only requests from this machine are served. */
  readonly token: string | undefined;
  /** Names that `Host` may have besides the bound host and loopback names: a container's name. */
  readonly allowedHosts?: readonly string[] | undefined;
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly code: 'unauthorized' | 'forbidden';
  readonly message: string;
}

/** Sent with every reply: a page of another site can neither embed it nor run it as a script. */
export const controlHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
};

/** The refusal of this request, or undefined if it may pass. */
export type Guard = (request: ControlRequest) => Refusal | undefined;

/**
 * `isOpen`: true for a path that needs no token; it also refuses other sites. Throws a
 * ListenError for a token that no header can carry.
 */
export function createGuard(
  { host, token, allowedHosts = [] }: GuardOptions,
  isOpen: (path: string) => boolean = () => false,
): Guard {
  if (token !== undefined && !bearerToken.test(token))
    throw new ListenError(`control token: ${expectedToken}${token === '' ? '; it is empty' : ''}`);
  const isAllowed = allowedNames(host, allowedHosts);
  const tokenDigest = token === undefined ? undefined : digest(token);
  return (request) =>
    siteRefusal(request, isAllowed) ??
    (isOpen(request.path) ? undefined : callerRefusal(request, tokenDigest));
}

/** Returns a test for the name in a `Host` header. */
function allowedNames(host: string, allowedHosts: readonly string[]): (name: string) => boolean {
  const names = new Set(allowedHosts.map((name) => name.toLowerCase()));
  const boundHost = withoutBrackets(host.toLowerCase());
  const isWildcard = boundHost === '0.0.0.0' || boundHost === '::';
  // A port bound to every address may be addressed by any IP; a rebound name is never an IP.
  return (name) =>
    name === boundHost || isLoopback(name) || names.has(name) || (isWildcard && isIP(name) !== 0);
}

/** Refuses a request that another site has caused in the user's browser. */
function siteRefusal(
  request: ControlRequest,
  isAllowed: (name: string) => boolean,
): Refusal | undefined {
  const { headers } = request;
  const hostHeader = headers['host']?.toLowerCase();
  const name = hostHeader === undefined ? undefined : hostName(hostHeader);
  if (name === undefined) return forbidden('the Host header is missing or malformed');
  if (!isAllowed(name))
    return forbidden(`the Host ${name} is not allowed; start with --control-allowed-host ${name}`);
  const origin = headers['origin']?.toLowerCase();
  if (origin !== undefined && origin !== `http://${hostHeader}`)
    return forbidden('the Origin is another site');
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site !== 'none' && site !== 'same-origin' && !isLinkToPage(request))
    return forbidden(`the request comes from another site (Sec-Fetch-Site: ${site})`);
  return undefined;
}

/** Refuses a request without the token or, if there is none, from another machine. */
function callerRefusal(
  { clientIp, authorization }: ControlRequest,
  tokenDigest: Buffer | undefined,
): Refusal | undefined {
  if (tokenDigest === undefined) {
    return isLoopback(clientIp)
      ? undefined
      : forbidden('only this machine is served; for others, start with a --control-token');
  }
  const givenToken = /^bearer[ \t]+(\S+)$/i.exec(authorization ?? '')?.[1];
  if (givenToken !== undefined && timingSafeEqual(digest(givenToken), tokenDigest))
    return undefined;
  return {
    status: 401,
    code: 'unauthorized',
    message: 'expected `Authorization: Bearer <token>` with the control token',
  };
}

/** Allowed from other sites: the page opens in a tab and loads its data from its own origin. */
function isLinkToPage({ method, path, headers }: ControlRequest): boolean {
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
  return match?.[1] === undefined ? undefined : withoutBrackets(match[1]);
}

/** An IPv6 address has brackets in `Host` but not where a port is bound. */
function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** Digests have equal lengths, so the time of the comparison reveals neither length nor content. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
