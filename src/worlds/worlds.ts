/**
 * All worlds of one server: the first world, and those that users create. Each is an isolated
 * simulator. Finds the world that a request belongs to.
 * A request to the first world costs a look at its path and host; once there are other worlds, also
 * a look-up of its key.
 */
import { inheritedSettings, type SettingsInput, type Share } from '../config/settings.ts';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { routes } from '../http/service/routes.ts';
import {
  type HostedHeader,
  type KeyDigests,
  readHeader,
  settingsOfHeader,
} from '../recording/journal-header.ts';
import type { RecordedRun } from '../recording/journal-lines.ts';
import { type Instant, playUntil } from '../recording/past.ts';
import type { Player } from '../recording/play.ts';
import { OperationRefused, refuseMore } from '../sim/operation-refused.ts';
import { Rng } from '../sim/random.ts';
import { addressIn, prefixOf, readdressed, withLinksUnder, worldOfHost } from './address.ts';
import { copyInto, type Forkable } from './fork.ts';
import type { JournalFolder } from './journal-folder.ts';
import { KeyDirectory } from './key-directory.ts';

export const mostWorlds = 10_000;
/** The id of the first world. */
export const firstWorldId = 'default';
const idAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 7;
const sweepMs = 250;

/** The parts of a simulator that hosting uses. */
export interface WorldSimulator extends Forkable, Player {
  /** True while a client waits for it or reads its events: it then does not expire. */
  readonly isWaitedFor: boolean;
  /** Called whenever the simulation was replaced. */
  onReplaced: (() => void) | undefined;
  /** The run since the start, the last checkpoint, or without a journal file the last reset. */
  recordedRun(): RecordedRun;
  close(): Promise<void>;
}

export interface HostedWorld<S> {
  readonly worldId: string;
  readonly name: string;
  readonly simulator: S;
  /** The world is deleted after this many real milliseconds without a request; undefined: never. */
  readonly ttlMs: number | undefined;
  /** When it expires, in real epoch milliseconds. */
  readonly expiresAtMs: number | undefined;
}

export interface WorldOptions {
  readonly name?: string | undefined;
  readonly ttlMs?: number | undefined;
}

interface Entry<S> extends HostedWorld<S> {
  lastUsedMs: number;
  /** The last use that is saved in the folder of journals. */
  savedLastUsedMs: number;
}

interface MakeOptions {
  readonly worldId: string;
  readonly journal?: string | false | undefined;
  readonly startAtMs?: number | undefined;
  readonly hosted?: HostedHeader | undefined;
  readonly keyDigests?: KeyDigests | undefined;
}
type Make<S> = (settings: SettingsInput, options: MakeOptions) => S;

interface HostOptions {
  /** The largest number of worlds. */
  readonly most?: number;
  /** Records each world in a journal of its own. */
  readonly folder?: JournalFolder | undefined;
  readonly share?: Share | undefined;
}

export class Worlds<S extends WorldSimulator> {
  /** The world that the server started with; not one of the list. */
  readonly first: Entry<S>;
  readonly #most: number;
  readonly #make: Make<S>;
  readonly #folder: JournalFolder | undefined;
  readonly #share: Share;
  readonly #byId = new Map<string, Entry<S>>();
  readonly #byName = new Map<string, Entry<S>>();
  readonly #keys = new KeyDirectory<Entry<S>>();
  #ids: Rng | undefined;
  /** How many ids were drawn. */
  #drawn = 0;
  #sweeping: NodeJS.Timeout | undefined;
  /** The world that answered last: Node's server shows its clock in `Date`. */
  #lastAnswered: S;

  /** `make` creates the simulator of a further world. */
  constructor(
    first: S,
    make: Make<S>,
    { most = mostWorlds, folder, share = { index: 0, count: 1 } }: HostOptions = {},
  ) {
    this.#most = most;
    this.#folder = folder;
    this.#share = share;
    this.#make = make;
    this.#lastAnswered = first;
    this.first = entryOf(firstWorldId, firstWorldId, first, undefined);
  }

  get size(): number {
    return this.#byId.size;
  }

  get list(): readonly HostedWorld<S>[] {
    return [...this.#byId.values()];
  }

  isFirst(simulator: WorldSimulator): boolean {
    return simulator === this.first.simulator;
  }

  get lastAnswered(): S {
    return this.#lastAnswered;
  }

  get(worldId: string): HostedWorld<S> | undefined {
    return this.#entry(worldId);
  }

  #entry(worldId: string): Entry<S> | undefined {
    return worldId === firstWorldId ? this.first : this.#byId.get(worldId);
  }

  /** Throws a SettingsError for unusable settings, an OperationRefused for a name or key in use. */
  create(settings: SettingsInput, options: WorldOptions): HostedWorld<S> {
    const [worldId, name] = this.#nameFor(options);
    for (const [at, { keys = [] }] of (settings.world?.accounts ?? []).entries()) {
      const taken = keys.findIndex(({ key }) => key !== undefined && this.#isKeyInUse(key));
      if (taken >= 0) throw keyInUse(`world.accounts[${at}].keys[${taken}].key`);
    }
    return this.#start({ ...settings, name }, worldId, options);
  }

  /**
   * A copy of a world with its own keys and random streams: as it is now, or as `copied`, which was
   * rebuilt at an earlier instant.
   */
  fork(source: HostedWorld<S>, options: WorldOptions, copied = source.simulator): HostedWorld<S> {
    const [worldId, name] = this.#nameFor(options);
    const settings = inheritedSettings(source.simulator.settings);
    return this.#start({ ...settings, name }, worldId, options, copied);
  }

  /**
   * Rebuilds a world as of an earlier instant from its journal, for the time of `use`. Throws a
   * JournalError, or an OperationRefused for an instant that the journal does not hold.
   */
  *rebuildAt<T>(source: S, instant: Instant, use: (rebuilt: S) => T): Generator<undefined, T> {
    const run = source.recordedRun();
    const header = readHeader(run.header, run.name);
    const { settings, keyDigests } = settingsOfHeader(header, run.name);
    const startAtMs = Date.parse(header.started_at);
    const rebuilt = this.#make(settings, { worldId: '', journal: false, startAtMs, keyDigests });
    try {
      rebuilt.wallClock.hold();
      yield* playUntil(rebuilt, run, instant);
      return use(rebuilt);
    } finally {
      void rebuilt.close();
    }
  }

  /** Starts the worlds that an earlier process recorded. Throws a JournalError. */
  restore(folder: JournalFolder): void {
    const { clock, boundTo } = this.first.simulator.settings;
    for (const { worldId, journal, header, lastUsedMs } of folder.saved()) {
      const { number, ttl_ms: ttlMs } = header.world;
      // Skips the ids that the earlier process has drawn: no new world gets the id of an old one.
      while (this.#drawn < number) this.#drawId();
      if (ttlMs !== undefined && Date.now() > lastUsedMs + ttlMs) {
        folder.remove(worldId);
        continue;
      }
      const { settings, keyDigests } = settingsOfHeader(header, journal);
      // A journal cannot hold the function of a bound clock: follow the first world's clock again.
      const { startTime: _, ...untimed } = settings;
      const followed =
        clock === 'bound' && header.settings['clock'] === 'bound' && boundTo !== undefined
          ? { ...untimed, clock: { now: boundTo } }
          : settings;
      const simulator = this.#make(followed, { worldId, journal, keyDigests });
      this.#add(worldId, settings.name ?? worldId, simulator, { ttlMs }, lastUsedMs);
    }
  }

  /** `source`: the simulator of which the new world is a copy. */
  #start(
    settings: SettingsInput & { readonly name: string },
    worldId: string,
    options: WorldOptions,
    source?: S,
  ): HostedWorld<S> {
    const { ttlMs } = options;
    const hosted = {
      number: this.#drawn,
      ...(ttlMs !== undefined && { ttl_ms: ttlMs }),
      ...(source !== undefined && { is_fork: true }),
    };
    let simulator: S | undefined;
    try {
      simulator = this.#make(settings, { worldId, journal: this.#folder?.fileOf(worldId), hosted });
      if (source !== undefined) copyInto(simulator, source);
      return this.#add(worldId, settings.name, simulator, options);
    } catch (error) {
      this.#folder?.remove(worldId);
      void simulator?.close();
      throw error;
    }
  }

  /** Deletes a world and closes its waits and streams. */
  delete({ worldId }: HostedWorld<S>): Promise<void> {
    const entry = this.#byId.get(worldId);
    if (entry === undefined) {
      throw new OperationRefused(
        'conflict',
        worldId === firstWorldId
          ? 'the world that the server started with cannot be deleted'
          : `world ${worldId} is deleted already`,
      );
    }
    // Before anything else, so that a deleted world does not return even if the process is killed.
    this.#folder?.remove(worldId);
    return this.#end(entry);
  }

  #end(entry: Entry<S>): Promise<void> {
    const { worldId, simulator } = entry;
    this.#byId.delete(worldId);
    this.#byName.delete(entry.name);
    this.#keys.forget(entry);
    if (this.#lastAnswered === simulator) this.#lastAnswered = this.first.simulator;
    return simulator.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
    for (const entry of this.#byId.values()) this.#saveLastUse(entry);
    await Promise.all([...this.#byId.values()].map((entry) => this.#end(entry)));
  }

  /** Answers a request in its world: by path, by host, by key, otherwise the first world. */
  handle(request: ApiRequest): ApiReply {
    const address = addressIn(request.path);
    if (address !== undefined) return this.#handleAt(address.worldId, request, address.path);
    const named = worldOfHost(request.host);
    if (named !== undefined) return this.#handleAt(named, request);
    if (this.#byId.size > 0) {
      const entry = this.#findByKey(request.authorization);
      if (entry !== undefined) return this.#answer(entry, request);
    }
    return this.#answer(this.first, request);
  }

  /** The world with this id. The request renews its time to live. */
  useAndRenew(worldId: string): S | undefined {
    const entry = this.#entry(worldId);
    if (entry === undefined || isExpired(entry)) return undefined;
    touch(entry);
    return entry.simulator;
  }

  #handleAt(worldId: string, request: ApiRequest, path?: string): ApiReply {
    const own = path === undefined ? request : readdressed(request, path);
    const entry = this.#entry(worldId);
    if (entry === undefined || isExpired(entry)) {
      return { status: 404, body: JSON.stringify(unknownWorld(worldId)) };
    }
    const reply = this.#answer(entry, own);
    if (path === undefined) return reply;
    return withLinksUnder(reply, prefixOf(worldId), path === routes.received.pattern);
  }

  #saveLastUse(entry: Entry<S>): void {
    if (this.#folder === undefined || entry.lastUsedMs === entry.savedLastUsedMs) return;
    entry.savedLastUsedMs = entry.lastUsedMs;
    this.#folder.used(entry.worldId, entry.lastUsedMs);
  }

  /** Only a request with a key of the world renews its lifetime: addresses can be guessed. */
  #answer(entry: Entry<S>, request: ApiRequest): ApiReply {
    if (entry.ttlMs !== undefined && hasKey(entry, request.authorization)) touch(entry);
    this.#lastAnswered = entry.simulator;
    return entry.simulator.handle(request);
  }

  /**
   * The other world that a key belongs to. A key of the first world, or no key, means the first
   * world.
   */
  #findByKey(authorization: string | undefined): Entry<S> | undefined {
    if (authorization === undefined) return undefined;
    if (hasKey(this.first, authorization)) return undefined;
    const entry = this.#keys.find(authorization);
    return entry === undefined || isExpired(entry) ? undefined : entry;
  }

  #isKeyInUse(text: string): boolean {
    return (
      this.first.simulator.simulation.world.keyRing.find(text) !== undefined ||
      this.#keys.findKey(text) !== undefined
    );
  }

  #nameFor({ name }: WorldOptions): [worldId: string, name: string] {
    refuseMore(this.#byId.size, this.#most, 'worlds');
    if (name !== undefined && (name === firstWorldId || this.#byName.has(name))) {
      throw nameInUse(name);
    }
    const worldId = this.#newId();
    return [worldId, name ?? worldId];
  }

  #newId(): string {
    for (;;) {
      const worldId = this.#drawId();
      const isOfShare = this.#drawn % this.#share.count === this.#share.index;
      if (isOfShare && !this.#byId.has(worldId) && !this.#byName.has(worldId)) return worldId;
    }
  }

  #drawId(): string {
    this.#ids ??= Rng.stream(this.first.simulator.settings.seed, 'worlds');
    this.#drawn++;
    let worldId = 'w';
    for (let n = 0; n < idLength; n++) worldId += idAlphabet[this.#ids.below(idAlphabet.length)];
    return worldId;
  }

  #add(
    worldId: string,
    name: string,
    simulator: S,
    { ttlMs }: WorldOptions,
    lastUsedMs = Date.now(),
  ): HostedWorld<S> {
    for (const key of simulator.simulation.world.keys.values()) {
      if (key.key !== '' && this.#isKeyInUse(key.key)) throw keyInUse();
    }
    const entry = entryOf(worldId, name, simulator, ttlMs, lastUsedMs);
    this.#byId.set(worldId, entry);
    this.#byName.set(name, entry);
    const watchKeys = () => simulator.simulation.world.keyRing.watch(this.#keys.watcherFor(entry));
    watchKeys();
    simulator.onReplaced = () => {
      this.#keys.forget(entry);
      watchKeys();
    };
    if (ttlMs !== undefined) {
      this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref();
    }
    return entry;
  }

  #sweep(): void {
    let canExpire = false;
    for (const entry of this.#byId.values()) {
      canExpire ||= entry.ttlMs !== undefined;
      if (isExpired(entry)) void this.delete(entry);
      else this.#saveLastUse(entry);
    }
    if (canExpire) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}

function entryOf<S>(
  worldId: string,
  name: string,
  simulator: S,
  ttlMs: number | undefined,
  lastUsedMs = 0,
): Entry<S> {
  return {
    worldId,
    name,
    simulator,
    ttlMs,
    lastUsedMs,
    savedLastUsedMs: lastUsedMs,
    get expiresAtMs() {
      return ttlMs === undefined ? undefined : this.lastUsedMs + ttlMs;
    },
  };
}

function isExpired({ expiresAtMs, simulator }: Entry<WorldSimulator>): boolean {
  return expiresAtMs !== undefined && Date.now() > expiresAtMs && !simulator.isWaitedFor;
}

/** The body of the 404 for an unknown or expired world. */
export function unknownWorld(worldId: string): { readonly code: string; readonly detail: string } {
  const shown = worldId.length > 60 ? `${worldId.slice(0, 60)}...` : worldId;
  return {
    code: 'world_not_found',
    detail: `There is no world ${shown}: it was deleted, it expired, or it was never created.`,
  };
}

function touch(entry: Entry<unknown>): void {
  if (entry.ttlMs !== undefined) entry.lastUsedMs = Date.now();
}

function hasKey({ simulator }: Entry<WorldSimulator>, authorization: string | undefined): boolean {
  const { keyRing } = simulator.simulation.world;
  return authorization !== undefined && keyRing.findHeader(authorization) !== undefined;
}

export function keyInUse(path?: string): OperationRefused {
  return new OperationRefused('conflict', 'another world has this key', path);
}

export function nameInUse(name: string): OperationRefused {
  return new OperationRefused('conflict', `a world is called ${name} already`, 'name');
}
