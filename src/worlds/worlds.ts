/**
 * All worlds of one server: the first one, with which it starts, and those that users create. Each
 * is an isolated simulator. `handle` finds the world of a request by path, host or API key; other
 * methods create, fork, restore and delete worlds.
 */
import type { ApiReply, ApiRequest, Awaits, Delivery } from '#contract/request-and-reply.ts';
import { inheritedSettings, type SettingsInput } from '../config/settings.ts';
import type { PastInstant } from '../recording/past.ts';
import { conflict, refuseMore } from '../sim/errors.ts';
import {
  type NamedWorld,
  readdress,
  type Share,
  WorldIds,
  withLinksUnder,
  worldNamedBy,
} from './address.ts';
import { copyInto, rebuildAt } from './copies.ts';
import {
  type CreateSimulator,
  ExpirySweep,
  HostedWorld,
  keyInUse,
  type NewWorld,
  nameInUse,
  unknownWorld,
  type WorldOptions,
  type WorldSimulator,
} from './hosted-world.ts';
import {
  type Creation,
  creationHeader,
  creationOf,
  type JournalFolder,
  type SavedWorld,
  savedSettings,
} from './journal-folder.ts';
import { WorldTable } from './world-table.ts';

export const mostWorlds = 10_000;
export const firstWorldId = 'default';

/** The names of a new world. `number`: how many ids were drawn, this one included. */
type NewNames = Readonly<{ worldId: string; name: string; number: number }>;

interface HostOptions {
  readonly maxWorlds?: number;
  /** Records each world in a journal of its own. */
  readonly folder?: JournalFolder | undefined;
  /** The worlds that this process of a fleet creates. */
  readonly share?: Share | undefined;
}

export class Worlds<S extends WorldSimulator> {
  /** The world that the server started with; not in the list. */
  readonly first: HostedWorld<S>;
  readonly #maxWorlds: number;
  readonly #createSimulator: CreateSimulator<S>;
  readonly #folder: JournalFolder | undefined;
  readonly #ids: WorldIds;
  readonly #table = new WorldTable<S>();
  readonly #sweep: ExpirySweep<S>;
  // Node's server shows one clock in `Date`: that of the simulator that answered last, or whose
  // delayed reply leaves now.
  #lastAnswered: S;
  /** The simulators whose replies a fault delays or cuts. */
  readonly #delivering = new WeakMap<Delivery, S>();

  constructor(
    first: S,
    createSimulator: CreateSimulator<S>,
    { maxWorlds = mostWorlds, folder, share = { index: 0, count: 1 } }: HostOptions = {},
  ) {
    this.#maxWorlds = maxWorlds;
    this.#folder = folder;
    this.#sweep = new ExpirySweep(this, folder);
    this.#ids = new WorldIds(first.settings.seed, share);
    this.#createSimulator = createSimulator;
    this.#lastAnswered = first;
    this.first = new HostedWorld({
      worldId: firstWorldId,
      name: firstWorldId,
      simulator: first,
      ttlMs: undefined,
      lastUsedMs: 0,
      creation: { createdMs: Date.now() },
    });
  }

  /** How many worlds there are besides the first. */
  get size(): number {
    return this.#table.size;
  }

  /** The worlds that users created. */
  get list(): readonly HostedWorld<S>[] {
    return this.#table.list;
  }

  isFirst(simulator: WorldSimulator): boolean {
    return simulator === this.first.simulator;
  }

  /** The simulator whose clock Node's server shows in `Date`. */
  get lastAnswered(): S {
    return this.#lastAnswered;
  }

  /** Called when a delayed reply leaves: its simulator is then the one that answered last. */
  delivers(delivery: Delivery): void {
    this.#lastAnswered = this.#delivering.get(delivery) ?? this.#lastAnswered;
  }

  get(worldId: string): HostedWorld<S> | undefined {
    return worldId === firstWorldId ? this.first : this.#table.get(worldId);
  }

  /** Throws a SettingsError for unusable settings, an OperationRefused for a name or key in use. */
  create(settings: SettingsInput, options: WorldOptions): HostedWorld<S> {
    const names = this.#namesFor(options);
    for (const [index, { keys = [] }] of (settings.world?.accounts ?? []).entries()) {
      const taken = keys.findIndex(({ key }) => key !== undefined && this.#isKeyInUse(key));
      if (taken >= 0) throw keyInUse(`world.accounts[${index}].keys[${taken}].key`);
    }
    return this.#createWorld(settings, names, options);
  }

  /**
   * Copies a world into a new one, which gets its own keys and random streams. `copied`: the
   * simulator whose state is copied; by default the present one. `rebuildAt` makes an earlier one.
   */
  fork(source: HostedWorld<S>, options: WorldOptions, copied = source.simulator): HostedWorld<S> {
    const names = this.#namesFor(options);
    const origin = { worldId: source.worldId, atMs: copied.simulation.clock.now() };
    const settings = inheritedSettings(source.simulator.settings);
    return this.#createWorld(settings, names, options, { copied, origin });
  }

  /** Rebuilds a world as of an earlier instant, calls `use`, and closes it: see `copies.ts`. */
  rebuildAt<T>(source: S, instant: PastInstant, use: (rebuilt: S) => T): Generator<undefined, T> {
    return rebuildAt(source, instant, this.#createSimulator, use);
  }

  /** A simulator that belongs to no world and records nothing; the caller closes it. */
  scratch(settings: SettingsInput, startAtMs: number): S {
    return this.#createSimulator(settings, { worldId: '', journal: false, startAtMs });
  }

  /** Starts the worlds that an earlier process recorded. Throws a JournalError. */
  restore(folder: JournalFolder): void {
    for (const saved of folder.recover()) {
      const { number, ttl_ms: ttlMs } = saved.header.world;
      this.#ids.skipTo(number);
      if (ttlMs !== undefined && Date.now() > saved.lastUsedMs + ttlMs) {
        folder.remove(saved.worldId);
      } else this.#restoreWorld(saved, ttlMs);
    }
  }

  /** Deletes a world and closes its waits and streams. */
  delete({ worldId }: HostedWorld<S>): Promise<void> {
    const world = this.#table.get(worldId);
    if (world === undefined) {
      throw conflict(
        worldId === firstWorldId
          ? 'the world that the server started with cannot be deleted'
          : `world ${worldId} is deleted already`,
      );
    }
    // Before the stop, so that the world stays deleted if the process is killed meanwhile.
    this.#folder?.remove(worldId);
    return this.#stop(world);
  }

  /** Closes all worlds but the first; their journals stay. */
  async close(): Promise<void> {
    this.#sweep.stop();
    await Promise.all(this.list.map((world) => this.#stop(world)));
  }

  /** Answers a request in the world that its path, its host or its key names, or in the first. */
  handle(request: ApiRequest, awaits?: Awaits): ApiReply {
    const named = worldNamedBy(request);
    if (named !== undefined) return this.#handleAt(named, request, awaits);
    // Without other worlds, a request does not cost a look-up of its key.
    if (this.size > 0) {
      const world = this.#findByKey(request.authorization);
      if (world !== undefined) return this.#answer(world, request, awaits);
    }
    return this.#answer(this.first, request, awaits);
  }

  /** Finds the simulator of a world and renews its lifetime; undefined for no such world. */
  useAndRenew(worldId: string): S | undefined {
    const world = this.get(worldId);
    if (world === undefined || world.isExpired) return undefined;
    world.renew();
    return world.simulator;
  }

  #handleAt({ worldId, path }: NamedWorld, request: ApiRequest, awaits?: Awaits): ApiReply {
    const world = this.get(worldId);
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
  #findByKey(authorization: string | undefined): HostedWorld<S> | undefined {
    if (authorization === undefined || this.first.hasKeyOf(authorization)) return undefined;
    const world = this.#table.findByHeader(authorization);
    return world === undefined || world.isExpired ? undefined : world;
  }

  #isKeyInUse(text: string): boolean {
    return (
      this.first.simulator.simulation.world.keyRing.find(text) !== undefined ||
      this.#table.findByKey(text) !== undefined
    );
  }

  #restoreWorld(saved: SavedWorld, ttlMs: number | undefined): void {
    const { worldId, journal, header, lastUsedMs } = saved;
    const { settings, keyDigests } = savedSettings(saved, this.first.simulator.settings);
    const simulator = this.#createSimulator(settings, { worldId, journal, keyDigests });
    const name = settings.name ?? worldId;
    const creation = creationOf(header.world);
    this.#register({ worldId, name, simulator, ttlMs, creation, lastUsedMs });
  }

  /** Creates a world. `source`: the state that it copies, and where that comes from. */
  #createWorld(
    settings: SettingsInput,
    { worldId, name, number }: NewNames,
    options: WorldOptions,
    source?: { readonly copied: S; readonly origin: NonNullable<Creation['origin']> },
  ): HostedWorld<S> {
    const { ttlMs } = options;
    const creation = { createdMs: Date.now(), origin: source?.origin };
    const lifetime = ttlMs === undefined ? {} : { ttl_ms: ttlMs };
    const hosted = { number, ...lifetime, ...creationHeader(creation) };
    let simulator: S | undefined;
    try {
      const journal = this.#folder?.fileOf(worldId);
      simulator = this.#createSimulator({ ...settings, name }, { worldId, journal, hosted });
      if (source !== undefined) copyInto(simulator, source.copied);
      return this.#register({ worldId, name, simulator, ttlMs, creation, lastUsedMs: Date.now() });
    } catch (error) {
      this.#folder?.remove(worldId);
      void simulator?.close();
      throw error;
    }
  }

  #stop(world: HostedWorld<S>): Promise<void> {
    const { simulator } = world;
    this.#table.delete(world);
    if (this.#lastAnswered === simulator) this.#lastAnswered = this.first.simulator;
    return simulator.close();
  }

  #namesFor({ name }: WorldOptions): NewNames {
    refuseMore(this.size, this.#maxWorlds, 'worlds');
    if (name !== undefined && (name === firstWorldId || this.#table.hasName(name)))
      throw nameInUse(name);
    const isUsed = (id: string) => this.#table.get(id) !== undefined || this.#table.hasName(id);
    const worldId = this.#ids.next(isUsed);
    return { worldId, name: name ?? worldId, number: this.#ids.drawn };
  }

  #register(created: NewWorld<S>): HostedWorld<S> {
    const { simulator, ttlMs } = created;
    for (const key of simulator.simulation.world.keys.values())
      if (key.key !== '' && this.#isKeyInUse(key.key)) throw keyInUse();
    const world = new HostedWorld(created);
    this.#table.add(world);
    if (ttlMs !== undefined) this.#sweep.start();
    return world;
  }
}
