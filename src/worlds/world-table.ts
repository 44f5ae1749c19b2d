/**
 * All worlds of a server but the first, by id, by name and by API key. A key is known
 * by its header (`Bearer <key>`), or by its digest if its text is not known, as after a restore
 * (`src/sim/accounts/key-ring.ts`).
 */
import { sha256 } from '#io/digest.ts';
import type { KeyWatcher } from '../sim/accounts/key-ring.ts';
import type { HostedWorld, WorldSimulator } from './hosted-world.ts';

const bearer = /^bearer[ \t]+(\S+)$/i;

export class WorldTable<S extends WorldSimulator> {
  readonly #byId = new Map<string, HostedWorld<S>>();
  readonly #byName = new Map<string, HostedWorld<S>>();
  /** The worlds by header or digest of a key. */
  readonly #byKey = new Map<string, HostedWorld<S>>();
  /** The headers and digests in `#byKey`, by world. */
  readonly #keysOf = new Map<HostedWorld<S>, Set<string>>();
  /** How many entries are digests; while there are none, no look-up computes a digest. */
  #digests = 0;

  get size(): number {
    return this.#byId.size;
  }

  get list(): readonly HostedWorld<S>[] {
    return [...this.#byId.values()];
  }

  get(worldId: string): HostedWorld<S> | undefined {
    return this.#byId.get(worldId);
  }

  hasName(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The world of the key in an Authorization header. */
  findByHeader(authorization: string): HostedWorld<S> | undefined {
    const world = this.#byKey.get(authorization);
    if (world !== undefined) return world;
    const text = bearer.exec(authorization)?.[1];
    return text === undefined ? undefined : this.findByKey(text);
  }

  /** The world of the key with this full text. */
  findByKey(text: string): HostedWorld<S> | undefined {
    const world = this.#byKey.get(`Bearer ${text}`);
    if (world !== undefined || this.#digests === 0) return world;
    return this.#byKey.get(sha256(text));
  }

  add(world: HostedWorld<S>): void {
    const { worldId, name, simulator } = world;
    this.#byId.set(worldId, world);
    this.#byName.set(name, world);
    const watchKeys = () => simulator.simulation.world.keyRing.watch(this.#watcherFor(world));
    watchKeys();
    simulator.onReplaced = () => {
      this.#forgetKeys(world);
      watchKeys();
    };
  }

  delete(world: HostedWorld<S>): void {
    this.#byId.delete(world.worldId);
    this.#byName.delete(world.name);
    this.#forgetKeys(world);
  }

  /** Adds and removes a world's keys as they are created and revoked. */
  #watcherFor(world: HostedWorld<S>): KeyWatcher {
    const keys = new Set<string>();
    this.#keysOf.set(world, keys);
    return {
      added: (headerOrDigest) => {
        // If a snapshot brings a key into a second world, the first world keeps it.
        if (this.#byKey.has(headerOrDigest)) return;
        this.#byKey.set(headerOrDigest, world);
        keys.add(headerOrDigest);
        if (isDigest(headerOrDigest)) this.#digests++;
      },
      removed: (headerOrDigest) => {
        if (keys.delete(headerOrDigest)) this.#removeKey(headerOrDigest);
      },
    };
  }

  #forgetKeys(world: HostedWorld<S>): void {
    const keys = this.#keysOf.get(world);
    for (const headerOrDigest of keys ?? []) this.#removeKey(headerOrDigest);
    // The watcher still has this set: a late call must find it empty.
    keys?.clear();
    this.#keysOf.delete(world);
  }

  #removeKey(headerOrDigest: string): void {
    this.#byKey.delete(headerOrDigest);
    if (isDigest(headerOrDigest)) this.#digests--;
  }
}

function isDigest(headerOrDigest: string): boolean {
  return !headerOrDigest.startsWith('Bearer ');
}
