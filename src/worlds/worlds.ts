/**
 * All worlds of one server: the first one, with which it starts, and those that users create. Each
 * is an isolated simulator. This file creates, forks, restores and deletes them; `router` finds the
 * world that answers a request.
 */
import { inheritedSettings, type SettingsInput } from '../config/settings.ts';
import type { PastInstant } from '../recording/past.ts';
import { conflict, refuseMore } from '../sim/errors.ts';
import { type Share, WorldIds } from './address.ts';
import { copyInto, rebuildAt } from './copies.ts';
import {
  type CreateSimulator,
  ExpirySweep,
  HostedWorld,
  keyInUse,
  type NewWorld,
  nameInUse,
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
import { WorldRouter, WorldTable } from './world-table.ts';

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
  readonly router: WorldRouter<S>;
  readonly #maxWorlds: number;
  readonly #createSimulator: CreateSimulator<S>;
  readonly #folder: JournalFolder | undefined;
  readonly #ids: WorldIds;
  readonly #table = new WorldTable<S>();
  readonly #sweep: ExpirySweep<S>;

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
    this.first = new HostedWorld({
      worldId: firstWorldId,
      name: firstWorldId,
      simulator: first,
      ttlMs: undefined,
      lastUsedMs: 0,
      creation: { createdMs: Date.now() },
    });
    this.router = new WorldRouter(this.first, this.#table);
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

  /** Finds the simulator of a world and renews its lifetime; undefined for no such world. */
  useAndRenew(worldId: string): S | undefined {
    const world = this.get(worldId);
    if (world === undefined || world.isExpired) return undefined;
    world.renew();
    return world.simulator;
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
    this.router.forget(simulator);
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
