/**
 * Which world an API key belongs to, over all worlds of a server.
 * A request that names no world by path or host belongs to the world of its key.
 */
import { sha256 } from '../recording/digest.ts';
import type { KeyWatcher } from '../sim/key-ring.ts';

const bearer = /^bearer[ \t]+(\S+)$/i;

export class KeyDirectory<W> {
  /** By the header that carries a key, or by its digest where the text is not known. */
  readonly #worlds = new Map<string, W>();
  #digests = 0;

  /** Adds the keys of a world as they come, and removes them as they go. */
  watcherFor(world: W): KeyWatcher {
    return {
      added: (known) => {
        // The first of two worlds keeps a key that a snapshot brought into the second.
        if (this.#worlds.has(known)) return;
        this.#worlds.set(known, world);
        if (isDigest(known)) this.#digests++;
      },
      removed: (known) => {
        if (this.#worlds.get(known) !== world) return;
        this.#worlds.delete(known);
        if (isDigest(known)) this.#digests--;
      },
    };
  }

  /** Drops all keys of a world: it is deleted, or another simulation takes its place. */
  forget(world: W): void {
    for (const [known, owner] of this.#worlds) {
      if (owner !== world) continue;
      this.#worlds.delete(known);
      if (isDigest(known)) this.#digests--;
    }
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

  get size(): number {
    return this.#worlds.size;
  }
}

function isDigest(known: string): boolean {
  return !known.startsWith('Bearer ');
}
