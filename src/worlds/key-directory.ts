/**
 * Finds the world of an API key, over all worlds of a server but the first. A request that names no
 * world by path or host belongs to the world of its key.
 * A key is known by its header (`Bearer <key>`), or by its digest if its text is not known, as
 * after a restore (`src/sim/accounts/key-ring.ts`).
 */
import { sha256 } from '#io/digest.ts';
import type { KeyWatcher } from '../sim/accounts/key-ring.ts';

const bearer = /^bearer[ \t]+(\S+)$/i;

export class KeyDirectory<W> {
  /** By header or digest. */
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
