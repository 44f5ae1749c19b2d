/**
 * Finds worlds. `WorldTable` has all worlds of a server but the first, by id, by name and by API
 * key. `WorldRouter` lets each request be answered by the world that its path, its host or its key
 * names, or by the first one. A key is known by its header (`Bearer <key>`), or by its digest if its
 * text is not known, as after a restore (`src/sim/accounts/key-ring.ts`).
 */
import { hash } from 'node:crypto';
import type { ApiReply, ApiRequest, Awaits, Delivery } from '#contract/request-and-reply.ts';
import type { KeyWatcher } from '../sim/accounts/key-ring.ts';
import { type NamedWorld, readdress, withLinksUnder, worldNamedBy } from './address.ts';
import { type HostedWorld, unknownWorld, type WorldSimulator } from './hosted-world.ts';

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
    return this.#byKey.get(hash('sha256', text));
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

export class WorldRouter<S extends WorldSimulator> {
  readonly #first: HostedWorld<S>;
  readonly #others: WorldTable<S>;
  // Node's server shows one clock in `Date`: that of the simulator that answered last, or whose
  // delayed reply leaves now.
  #lastAnswered: S;
  /** The simulators whose replies a fault delays or cuts. */
  readonly #delivering = new WeakMap<Delivery, S>();

  constructor(first: HostedWorld<S>, others: WorldTable<S>) {
    this.#first = first;
    this.#others = others;
    this.#lastAnswered = first.simulator;
  }

  handle(request: ApiRequest, awaits?: Awaits): ApiReply {
    const named = worldNamedBy(request);
    if (named !== undefined) return this.#handleAt(named, request, awaits);
    // Without other worlds, a request does not cost a look-up of its key.
    const hasOthers = this.#others.size > 0;
    const world = hasOthers ? this.#otherWorldOf(request.authorization) : undefined;
    return this.#answer(world ?? this.#first, request, awaits);
  }

  /** The simulator whose clock Node's server shows in `Date`. */
  get lastAnswered(): S {
    return this.#lastAnswered;
  }

  /** Called when a delayed reply leaves: its simulator is then the one that answered last. */
  delivers(delivery: Delivery): void {
    this.#lastAnswered = this.#delivering.get(delivery) ?? this.#lastAnswered;
  }

  /** Called for the simulator of a deleted world. */
  forget(simulator: S): void {
    if (this.#lastAnswered === simulator) this.#lastAnswered = this.#first.simulator;
  }

  #handleAt({ worldId, path }: NamedWorld, request: ApiRequest, awaits?: Awaits): ApiReply {
    const world = worldId === this.#first.worldId ? this.#first : this.#others.get(worldId);
    if (world === undefined || world.isExpired)
      return { status: 404, body: JSON.stringify(unknownWorld(worldId)) };
    if (path === undefined) return this.#answer(world, request, awaits);
    const reply = this.#answer(world, readdress(request, path), awaits);
    return withLinksUnder(reply, { worldId, path });
  }

  #answer(world: HostedWorld<S>, request: ApiRequest, awaits?: Awaits): ApiReply {
    // Addresses can be guessed, so only a request with a key of the world renews its lifetime.
    if (world.ttlMs !== undefined && world.hasKeyOf(request.authorization)) world.renew();
    const { simulator } = world;
    this.#lastAnswered = simulator;
    const reply = simulator.handle(request, awaits);
    if (reply.delivery !== undefined) this.#delivering.set(reply.delivery, simulator);
    return reply;
  }

  /** The world of a key; undefined for the first world, which also answers unknown keys. */
  #otherWorldOf(authorization: string | undefined): HostedWorld<S> | undefined {
    if (authorization === undefined || this.#first.hasKeyOf(authorization)) return undefined;
    const world = this.#others.findByHeader(authorization);
    return world === undefined || world.isExpired ? undefined : world;
  }
}
