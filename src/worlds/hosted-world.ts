/**
 * One world of a server: its simulator and the options of that, its name, and how long it may stay
 * unused. Lifetimes are in real time: a simulated clock may stand still or run ahead.
 */
import type { Settings, SettingsInput } from '../config/settings.ts';
import type { RecordBound } from '../recording/exchange-record.ts';
import type { RecordedRun } from '../recording/journal/journal-lines.ts';
import type { JournalOptions } from '../recording/journal/world-journal.ts';
import type { ReplayTarget } from '../recording/play.ts';
import { conflict, type OperationRefused } from '../sim/errors.ts';
import type { Share } from './address.ts';
import { type Creation, isFolderError, type JournalFolder } from './journal-folder.ts';

/** The parts of a simulator that a server of several worlds uses. */
export interface WorldSimulator extends ReplayTarget {
  /** Changes the world by `act` and records the operation in the journal. */
  change<T>(name: string, args: readonly unknown[], act: () => T): T;
  /** True while a client waits for it or reads its events: it then does not expire. */
  readonly isWaitedFor: boolean;
  /** Called whenever the simulation was replaced. */
  onReplaced: (() => void) | undefined;
  /** The run since the start, the last checkpoint, or without a journal file the last reset. */
  recordedRun(): RecordedRun;
  close(): Promise<void>;
}

export interface WorldSimulatorOptions
  extends Pick<JournalOptions, 'journal' | 'hosted' | 'keyDigests'> {
  readonly worldId: string;
  /** The start of simulated time, in epoch milliseconds. */
  readonly startAtMs?: number | undefined;
}

/** How a simulator records its run; every field is optional. */
export interface SimulatorOptions {
  /**
   * A file to which every input is appended. If it exists, its inputs are replayed first and the
   * run continues. Without it, memory keeps the inputs since the last reset, and drops all
   * of them above its bound; `false` keeps no inputs.
   */
  readonly journal?: string | false | undefined;
  /**
   * A folder with one journal for each world, named by its id; after a restart the worlds are there
   * again. In place of `journal`.
   */
  readonly journalDir?: string | undefined;
  /** After this many bytes of inputs, a checkpoint replaces them. Default 1 GiB. */
  readonly journalMaxBytes?: number | undefined;
  /** Called with one line that the user should see, about the journal or `maxMessages`. */
  readonly onNotice?: ((line: string) => void) | undefined;
}

/**
 * The options that users do not have: other parts of the program set them. Without a `worldId` it
 * is the first world, whose URLs carry no id.
 */
export interface SimulatorOptionsWithin<HostedWorlds>
  extends SimulatorOptions,
    Partial<WorldSimulatorOptions> {
  /** Creates each simulation; a defect passes a function that replaces classes. */
  readonly simulation?:
    | ((settings: Settings, startMs: number) => ReplayTarget['simulation'])
    | undefined;
  /** How many requests are kept for the referee; set when reading a recorded run. */
  readonly recordBound?: RecordBound | undefined;
  /** The worlds of the server that creates this one; absent for the server's first world. */
  readonly hostedWorlds?: HostedWorlds | undefined;
  /** The part of all world ids that this server draws from; absent if it is the only server. */
  readonly share?: Share | undefined;
}

export type CreateSimulator<S> = (settings: SettingsInput, options: WorldSimulatorOptions) => S;

export interface WorldOptions {
  /** By default the world's id. */
  readonly name?: string | undefined;
  /** See `HostedWorld`. */
  readonly ttlMs?: number | undefined;
}

/** What a world of a server starts with. */
export interface NewWorld<S> {
  readonly worldId: string;
  readonly name: string;
  readonly simulator: S;
  /** The world is deleted after this many real milliseconds without a request; undefined: never. */
  readonly ttlMs: number | undefined;
  /** In real epoch milliseconds; 0 if the world never expires and was never used. */
  readonly lastUsedMs: number;
  readonly creation: Creation;
}

export class HostedWorld<S extends WorldSimulator> implements NewWorld<S> {
  readonly worldId: string;
  readonly name: string;
  readonly simulator: S;
  readonly ttlMs: number | undefined;
  lastUsedMs: number;
  readonly creation: Creation;
  /** The last use that the folder of journals has recorded. `ExpirySweep` writes it. */
  savedLastUsedMs: number;

  constructor({ worldId, name, simulator, ttlMs, lastUsedMs, creation }: NewWorld<S>) {
    this.worldId = worldId;
    this.name = name;
    this.simulator = simulator;
    this.ttlMs = ttlMs;
    this.lastUsedMs = lastUsedMs;
    this.savedLastUsedMs = lastUsedMs;
    this.creation = creation;
  }

  /** When the world expires, in real epoch milliseconds; undefined: never. */
  get expiresAtMs(): number | undefined {
    return this.ttlMs === undefined ? undefined : this.lastUsedMs + this.ttlMs;
  }

  get isExpired(): boolean {
    const { expiresAtMs } = this;
    return expiresAtMs !== undefined && Date.now() > expiresAtMs && !this.simulator.isWaitedFor;
  }

  /** Starts the time to live again. */
  renew(): void {
    if (this.ttlMs !== undefined) this.lastUsedMs = Date.now();
  }

  /** True if this `Authorization` header carries a key of the world, in its usual spelling. */
  hasKeyOf(authorization: string | undefined): boolean {
    const { keyRing } = this.simulator.simulation.world;
    return authorization !== undefined && keyRing.findHeader(authorization) !== undefined;
  }
}

/** The interval at which expired worlds are deleted. */
const sweepMs = 250;

interface ExpiringWorlds<S extends WorldSimulator> {
  readonly list: readonly HostedWorld<S>[];
  delete(world: HostedWorld<S>): Promise<void>;
}

/** Deletes expired worlds, and saves when the others were used, while any world can expire. */
export class ExpirySweep<S extends WorldSimulator> {
  readonly #worlds: ExpiringWorlds<S>;
  readonly #folder: JournalFolder | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(worlds: ExpiringWorlds<S>, folder: JournalFolder | undefined) {
    this.#worlds = worlds;
    this.#folder = folder;
  }

  /** Call this for each world that can expire. */
  start(): void {
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const world of this.#worlds.list) this.#saveLastUse(world);
  }

  #sweep(): void {
    let canExpire = false;
    for (const world of this.#worlds.list) {
      canExpire ||= world.ttlMs !== undefined;
      if (world.isExpired) this.#expire(world);
      else this.#saveLastUse(world);
    }
    if (!canExpire) this.stop();
  }

  /** A world whose journal cannot be removed stays expired: the next sweep tries again. */
  #expire(world: HostedWorld<S>): void {
    try {
      void this.#worlds.delete(world);
    } catch (error) {
      if (!isFolderError(error)) throw error;
    }
  }

  #saveLastUse(world: HostedWorld<S>): void {
    if (this.#folder === undefined || world.lastUsedMs === world.savedLastUsedMs) return;
    world.savedLastUsedMs = world.lastUsedMs;
    this.#folder.saveLastUse(world.worldId, world.lastUsedMs);
  }
}

const longestShownId = 60;

/** The body of the 404 for an unknown or expired world. */
export function unknownWorld(worldId: string): { readonly code: string; readonly detail: string } {
  const quoted =
    worldId.length > longestShownId ? `${worldId.slice(0, longestShownId)}...` : worldId;
  return {
    code: 'world_not_found',
    detail: `There is no world ${quoted}: it was deleted, it expired, or it was never created.`,
  };
}

/** `path`: where the input gives the key. */
export function keyInUse(path?: string): OperationRefused {
  return conflict('another world has this key', path);
}

export function nameInUse(name: string): OperationRefused {
  return conflict(`the world name ${name} is in use; choose another`, 'name');
}
