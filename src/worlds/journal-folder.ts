/**
 * The folder of `serve --journal-dir`: one journal for each world, named by the world's id. A
 * restart of the server starts these worlds again. A journal's modification time is the last use of
 * its world, so that the world expires when it would have expired without the restart.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isoTime } from '#contract/time.ts';
import { systemCodeOf } from '#io/plain-file.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import type { Settings, SettingsInput } from '../config/settings.ts';
import {
  type HostedHeader,
  type JournalHeader,
  type KeyDigests,
  readHeader,
  settingsOfHeader,
} from '../recording/journal/journal-header.ts';
import { readJournal } from '../recording/journal/journal-lines.ts';
import {
  journalFiles,
  namedCheckpoint,
  type RunFileKind,
  removeLeftovers,
  removeOwn,
} from '../recording/journal/run-files.ts';

const extension = '.ndjson';
/**
 * The files of created worlds: id and part. No part means the journal itself. The first world has
 * an id of another form.
 */
const worldFile = /^(w[a-z0-9]{7})\.ndjson(?:\.(checkpoint|next|lock)(?:-\d+)?)?$/;

/** A world that an earlier process recorded. */
export interface SavedWorld {
  readonly worldId: string;
  readonly journal: string;
  readonly header: JournalHeader & { readonly world: NonNullable<JournalHeader['world']> };
  /** In real epoch milliseconds. */
  readonly lastUsedMs: number;
}

/** When a world was created, and from what. */
export interface Creation {
  /** In real epoch milliseconds. */
  readonly createdMs: number;
  /** The world that a fork copied, and the simulated time then. */
  readonly origin?: { readonly worldId: string; readonly atMs: number } | undefined;
}

export class JournalFolder {
  readonly #folder: string;

  /** Creates the folder if it does not exist. */
  constructor(folder: string) {
    this.#folder = folder;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new JournalError(`${folder}: cannot be a folder of journals (${systemCodeOf(error)})`);
    }
  }

  /** The path of a world's journal. */
  fileOf(worldId: string): string {
    return join(this.#folder, `${worldId}${extension}`);
  }

  /**
   * Reads the worlds, in the order of their creation. Removes the files of worlds whose creation or
   * deletion a killed process did not finish.
   */
  recover(): readonly SavedWorld[] {
    const saved: SavedWorld[] = [];
    for (const name of readdirSync(this.#folder)) {
      const [, worldId, part] = worldFile.exec(name) ?? [];
      if (worldId === undefined) continue;
      if (part !== undefined) this.#removeOrphan(worldId, name, part);
      else {
        const world = this.#recoverWorld(worldId);
        if (world !== undefined) saved.push(world);
      }
    }
    return saved.sort((one, other) => one.header.world.number - other.header.world.number);
  }

  saveLastUse(worldId: string, lastUsedMs: number): void {
    try {
      utimesSync(this.fileOf(worldId), lastUsedMs / 1_000, lastUsedMs / 1_000);
    } catch {
      // The time of the last write counts as the last use if the disk is full or read-only.
    }
  }

  /** Removes the files of a world. Its journal goes first: without it there is no world. */
  remove(worldId: string): void {
    refuseLink(this.fileOf(worldId));
    const files = journalFiles(this.fileOf(worldId));
    const { checkpoint } = headerOf(files.journal) ?? {};
    removeOwn(files.journal, 'journal');
    removeLeftovers(files, checkpoint);
    if (checkpoint !== undefined) removeOwn(namedCheckpoint(files, checkpoint), 'checkpoint');
  }

  #recoverWorld(worldId: string): SavedWorld | undefined {
    const journal = this.fileOf(worldId);
    refuseLink(journal);
    const header = headerOf(journal);
    if (header === undefined || isUnfinishedFork(header, journal)) {
      // The process was killed before it answered the creation, so no client knows this world.
      this.remove(worldId);
      return undefined;
    }
    const { world } = header;
    if (world === undefined)
      throw new JournalError(`${journal}: not the journal of a world; move it away`);
    const lastUsedMs = Math.round(statSync(journal).mtimeMs);
    return { worldId, journal, header: { ...header, world }, lastUsedMs };
  }

  /** Removes another file of a world whose journal is gone. */
  #removeOrphan(worldId: string, name: string, part: string): void {
    if (existsSync(this.fileOf(worldId))) return;
    const kind = part === 'next' ? 'journal' : (part as RunFileKind);
    removeOwn(join(this.#folder, basename(name)), kind);
  }
}

/** The creation as the header of the world's journal states it. */
export function creationHeader({ createdMs, origin }: Creation) {
  const created_at = isoTime(createdMs);
  if (origin === undefined) return { created_at };
  const forked_from = { world_id: origin.worldId, at: isoTime(origin.atMs) };
  return { created_at, is_fork: true, forked_from };
}

/** Reads the creation; the first journals did not say when their world was created. */
export function creationOf({ created_at: createdAt, forked_from: from }: HostedHeader): Creation {
  return {
    createdMs: createdAt === undefined ? Date.now() : Date.parse(createdAt),
    origin: from && { worldId: from.world_id, atMs: Date.parse(from.at) },
  };
}

/**
 * The recorded settings of a world. If it followed a bound clock, whose function no journal can
 * hold, it follows that of `first`, the server's first world.
 */
export function savedSettings(
  { header, journal }: SavedWorld,
  first: Settings,
): { readonly settings: SettingsInput; readonly keyDigests: KeyDigests } {
  const recorded = settingsOfHeader(header, journal);
  const wasBound = header.settings['clock'] === 'bound';
  if (!wasBound || first.clock !== 'bound' || first.boundTo === undefined) return recorded;
  const { startTime: _, ...untimed } = recorded.settings;
  return { ...recorded, settings: { ...untimed, clock: { now: first.boundTo } } };
}

/** True for an error of the file system, or a refusal of `JournalFolder`. */
export function isFolderError(error: unknown): boolean {
  return error instanceof JournalError || (error instanceof Error && 'code' in error);
}

/** Throws for a symbolic link: the file that it names belongs to another folder. */
function refuseLink(journal: string): void {
  if (lstatSync(journal, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new JournalError(`${journal}: it is a symbolic link; move it away`);
}

/** Undefined for a journal that does not exist or has no complete header. */
function headerOf(journal: string): JournalHeader | undefined {
  const text = readJournal(journal)?.header;
  return text === undefined ? undefined : readHeader(text, journal);
}

/** A fork first records the state that it copies; without that record it is not complete. */
function isUnfinishedFork({ world, checkpoint }: JournalHeader, journal: string): boolean {
  if (world?.is_fork !== true || checkpoint !== undefined) return false;
  const [first] = readJournal(journal)?.entries ?? [];
  return first === undefined;
}
