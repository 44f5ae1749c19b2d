/**
 * How a request names its world: by the path prefix `/w/<world_id>`, which the world does not see,
 * or by the host `<world_id>.localhost`. For HTTPS the host may be `<world_id>.world.localhost`,
 * because no client accepts a certificate for `*.localhost`. A request that names no world belongs to
 * the world of its API key. Also draws the ids of new worlds.
 */
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { sha256 } from '#io/digest.ts';
import type { KeyWatcher } from '../sim/accounts/key-ring.ts';
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

/** The world that a request names. `path`: within the world, if the request's path names it. */
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
export function readdressed(request: ApiRequest, path: string): ApiRequest {
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

/** The reply with the world's prefix added to its links, because the client used the prefix. */
export function withLinksUnder(reply: ApiReply, worldId: string, isPage: boolean): ApiReply {
  const prefix = prefixOf(worldId);
  const location = reply.headers?.['location'];
  if (location !== undefined) {
    return { ...reply, headers: { ...reply.headers, location: `${prefix}${location}` } };
  }
  return isPage ? { ...reply, body: reply.body.replace(pageLinks, `"$1":"${prefix}/`) } : reply;
}

const bearer = /^bearer[ \t]+(\S+)$/i;

/**
 * Finds the world of an API key, over all worlds of a server but the first. A key is known by its
 * header (`Bearer <key>`), or by its digest if its text is not known, as after a restore
 * (`src/sim/accounts/key-ring.ts`).
 */
export class KeyDirectory<W> {
  /** The worlds by header or digest of a key. */
  readonly #worlds = new Map<string, W>();
  /** The same entries, by world. */
  readonly #keysOf = new Map<W, Set<string>>();
  /** How many entries are digests; while there are none, no look-up computes a digest. */
  #digests = 0;

  /** Adds and removes a world's keys as they are created and revoked. */
  watcherFor(world: W): KeyWatcher {
    return {
      added: (headerOrDigest) => {
        // If a snapshot brings a key into a second world, the first world keeps it.
        if (this.#worlds.has(headerOrDigest)) return;
        this.#worlds.set(headerOrDigest, world);
        const keys = this.#keysOf.get(world);
        if (keys === undefined) this.#keysOf.set(world, new Set([headerOrDigest]));
        else keys.add(headerOrDigest);
        if (isDigest(headerOrDigest)) this.#digests++;
      },
      removed: (headerOrDigest) => {
        if (this.#keysOf.get(world)?.delete(headerOrDigest)) this.#remove(headerOrDigest);
      },
    };
  }

  /** Removes all keys of a world: it was deleted, or its simulation was replaced. */
  forget(world: W): void {
    for (const headerOrDigest of this.#keysOf.get(world) ?? []) this.#remove(headerOrDigest);
    this.#keysOf.delete(world);
  }

  #remove(headerOrDigest: string): void {
    this.#worlds.delete(headerOrDigest);
    if (isDigest(headerOrDigest)) this.#digests--;
  }

  /** The world of the key in an Authorization header. */
  find(authorization: string): W | undefined {
    const world = this.#worlds.get(authorization);
    if (world !== undefined) return world;
    const text = bearer.exec(authorization)?.[1];
    return text === undefined ? undefined : this.findKey(text);
  }

  /** The world of the key with this full text. */
  findKey(text: string): W | undefined {
    const world = this.#worlds.get(`Bearer ${text}`);
    if (world !== undefined || this.#digests === 0) return world;
    return this.#worlds.get(sha256(text));
  }
}

function isDigest(headerOrDigest: string): boolean {
  return !headerOrDigest.startsWith('Bearer ');
}

/** Server number `index` (from 0) of `count` servers that share the ids of worlds. */
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
