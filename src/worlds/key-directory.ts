/**
 * Finds the world of an API key, over all worlds of a server.
 * A request that names no world by path or host belongs to the world of its key.
 */
import { sha256 } from '../recording/digest.ts';
import type { KeyWatcher } from '../sim/key-ring.ts';

const bearer = /^bearer[ \t]+(\S+)$/i;

export class KeyDirectory<W> {
  /** Worlds by the header that carries a key, or by the key's digest if its text is not known. */
  readonly #worlds = new Map<string, W>();
  readonly #keys = new Map<W, Set<string>>();
  #digests = 0;

  /** Adds and removes a world's keys as they are created and revoked. */
  watcherFor(world: W): KeyWatcher {
    return {
      added: (known) => {
        // If a snapshot brings a key into a second world, the first world keeps it.
        if (this.#worlds.has(known)) return;
        this.#worlds.set(known, world);
        const own = this.#keys.get(world);
        if (own === undefined) this.#keys.set(world, new Set([known]));
        else own.add(known);
        if (isDigest(known)) this.#digests++;
      },
      removed: (known) => {
        if (this.#keys.get(world)?.delete(known)) this.#remove(known);
      },
    };
  }

  /** Removes all keys of a world: it was deleted, or its simulation was replaced. */
  forget(world: W): void {
    for (const known of this.#keys.get(world) ?? []) this.#remove(known);
    this.#keys.delete(world);
  }

  #remove(known: string): void {
    this.#worlds.delete(known);
    if (isDigest(known)) this.#digests--;
  }

  /** The world of the key in an Authorization header. */
  find(authorization: string): W | undefined {
    const world = this.#worlds.get(authorization);
    if (world !== undefined) return world;
    const text = bearer.exec(authorization)?.[1];
    return text === undefined ? undefined : this.findKey(text);
  }

  findKey(text: string): W | undefined {
    const world = this.#worlds.get(`Bearer ${text}`);
    if (world !== undefined || this.#digests === 0) return world;
    return this.#worlds.get(sha256(text));
  }
}

function isDigest(known: string): boolean {
  return !known.startsWith('Bearer ');
}
