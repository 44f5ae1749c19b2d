/**
 * How a request names its world: by the path prefix `/w/<world_id>`, or by the host
 * `<world_id>.localhost`, or `<world_id>.world.localhost`: no client accepts a certificate for
 * `*.localhost`. The world sees the request without that prefix.
 */
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';

export interface Address {
  readonly worldId: string;
  /** The path within the world. */
  readonly path: string;
}

const prefix = '/w/';
const worldHost = /^([a-z0-9-]+)(?:\.world)?\.localhost(?::[0-9]{1,5})?$/i;

/** The world that a path names, or undefined. */
export function addressIn(path: string): Address | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const end = path.indexOf('/', prefix.length);
  return end < 0
    ? { worldId: path.slice(prefix.length), path: '/' }
    : { worldId: path.slice(prefix.length, end), path: path.slice(end) };
}

/** The world that a `Host` header names, or undefined. */
export function worldOfHost(host: string | undefined): string | undefined {
  return host === undefined ? undefined : worldHost.exec(host)?.[1]?.toLowerCase();
}

/** The prefix of a world's links. */
export function prefixOf(worldId: string): string {
  return `${prefix}${worldId}`;
}

/** A request with another path. The other fields are read on demand: some are costly to read. */
export class Readdressed<R extends ApiRequest> implements ApiRequest {
  readonly path: string;
  protected readonly request: R;

  constructor(request: R, path: string) {
    this.request = request;
    this.path = path;
  }

  get method(): string {
    return this.request.method;
  }

  get query(): string {
    return this.request.query;
  }

  get host(): string | undefined {
    return this.request.host;
  }

  get authorization(): string | undefined {
    return this.request.authorization;
  }

  get contentType(): string | undefined {
    return this.request.contentType;
  }

  get contentEncoding(): string | undefined {
    return this.request.contentEncoding;
  }

  get clientIp(): string {
    return this.request.clientIp;
  }

  get forwardedFor(): string | undefined {
    return this.request.forwardedFor;
  }

  get body(): string | Uint8Array {
    return this.request.body;
  }
}

/**
 * A link as the whole value of a JSON member. Inside a text its quotes would be escaped, so it
 * cannot match.
 */
const pageLinks = /"(next|previous)":"\//g;

/** The reply with the world's prefix added to its links, because the client used the prefix. */
export function withLinksUnder(reply: ApiReply, prefix: string, isPage: boolean): ApiReply {
  const location = reply.headers?.['location'];
  if (location !== undefined) {
    return { ...reply, headers: { ...reply.headers, location: `${prefix}${location}` } };
  }
  return isPage ? { ...reply, body: reply.body.replace(pageLinks, `"$1":"${prefix}/`) } : reply;
}
