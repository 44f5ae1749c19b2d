/**
 * The ids of worlds. A request names a world by the path prefix `/w/<world_id>`, which the world
 * does not see, or by the host `<world_id>.localhost`. For HTTPS the host may be
 * `<world_id>.world.localhost`, because no client accepts a certificate for `*.localhost`.
 */
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { routes } from '#contract/routes.ts';
import { Rng } from '../sim/random.ts';

/** A path that names a world. */
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

/** The world that a request names. `path`: the path within it; undefined if the host names it. */
export type NamedWorld = Pick<Address, 'worldId'> & Partial<Pick<Address, 'path'>>;

/** The world that the path or the `Host` header of a request names, or undefined. */
export function worldNamedBy({ path, host }: ApiRequest): NamedWorld | undefined {
  const address = addressIn(path);
  if (address !== undefined || host === undefined) return address;
  const worldId = worldHost.exec(host)?.[1]?.toLowerCase();
  return worldId === undefined ? undefined : { worldId };
}

/** The prefix of a world's links. */
export function prefixOf(worldId: string): string {
  return `${prefix}${worldId}`;
}

/**
 * The request with another path. `clientIp` stays a getter, because the transport makes its text on
 * demand.
 */
export function readdress(request: ApiRequest, path: string): ApiRequest {
  return {
    method: request.method,
    path,
    query: request.query,
    host: request.host,
    authorization: request.authorization,
    contentType: request.contentType,
    contentEncoding: request.contentEncoding,
    forwardedFor: request.forwardedFor,
    headers: request.headers,
    body: request.body,
    get clientIp() {
      return request.clientIp;
    },
  };
}

/**
 * The links of a page of received messages. A message's text cannot match, because quotes are
 * escaped in it.
 */
const pageLinks = /"(next|previous)":"\//g;
const receivedPath = new RegExp(`^${routes.received.pattern.replace(/\/$/, '')}/?$`, 'i');

/** The reply with the world's prefix added to its links, because the client used the prefix. */
export function withLinksUnder(reply: ApiReply, { worldId, path }: Address): ApiReply {
  const worldPrefix = prefixOf(worldId);
  const location = reply.headers?.['location'];
  if (location !== undefined)
    return { ...reply, headers: { ...reply.headers, location: `${worldPrefix}${location}` } };
  // Only the list of received messages contains links in its body. Its path may be spelt otherwise
  // (`pathCase`, `trailingSlash`).
  return receivedPath.test(path)
    ? { ...reply, body: reply.body.replace(pageLinks, `"$1":"${worldPrefix}/`) }
    : reply;
}

/** The share of one process of a fleet: number `index` (from 0) of `count`. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

const idAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 7;

/**
 * Draws the ids of new worlds from the seed of the server. Processes of one fleet draw the same
 * sequence, and each takes only its share of it, so no two processes create the same id.
 */
export class WorldIds {
  readonly #seed: number;
  readonly #share: Share;
  #rng: Rng | undefined;
  #drawn = 0;

  constructor(seed: number, share: Share) {
    this.#seed = seed;
    this.#share = share;
  }

  /** How many ids were drawn. A journal records it as the number of its world. */
  get drawn(): number {
    return this.#drawn;
  }

  /** Draws until an id belongs to this process and is not in use. */
  next(isUsed: (worldId: string) => boolean): string {
    for (;;) {
      const worldId = this.#draw();
      const isOfShare = this.#drawn % this.#share.count === this.#share.index;
      if (isOfShare && !isUsed(worldId)) return worldId;
    }
  }

  /** Skips the ids that an earlier process drew, so that no new world gets the id of an old one. */
  skipTo(drawn: number): void {
    while (this.#drawn < drawn) this.#draw();
  }

  #draw(): string {
    this.#rng ??= Rng.stream(this.#seed, 'worlds');
    this.#drawn++;
    let worldId = 'w';
    for (let n = 0; n < idLength; n++) worldId += idAlphabet[this.#rng.below(idAlphabet.length)];
    return worldId;
  }
}
