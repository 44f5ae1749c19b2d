/**
 * The folder of `serve --journal-dir`: one journal a world, named by the world's id. After a restart
 * the worlds are there again. The journal's modification time is the last use of its world, so that
 * a lifetime continues where it was.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, JournalError } from '../recording/journal-error.ts';
import {
  journalFiles,
  type Kind,
  namedCheckpoint,
  nameOf,
  removeLeftovers,
  removeOwn,
} from '../recording/journal-files.ts';
import { type JournalHeader, readHeader } from '../recording/journal-header.ts';
import { readJournal } from '../recording/journal-lines.ts';

const extension = '.ndjson';
/** The files of worlds that were created; the first world has another id. */
const worldFile = /^(w[a-z0-9]{7})\.ndjson(?:\.(checkpoint|next|lock)(?:-\d+)?)?$/;

/** A world that an earlier process recorded. */
export interface SavedWorld {
  readonly worldId: string;
  readonly journal: string;
  readonly header: JournalHeader & { readonly world: NonNullable<JournalHeader['world']> };
  readonly lastUsedMs: number;
}

export class JournalFolder {
  readonly #folder: string;

  /** Creates the folder if it does not exist. */
  constructor(folder: string) {
    this.#folder = folder;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new JournalError(`${folder}: cannot be a folder of journals (${codeOf(error)})`);
    }
  }

  fileOf(worldId: string): string {
    return join(this.#folder, `${worldId}${extension}`);
  }

  /**
   * The worlds in the order of their creation. Removes what a killed process left of worlds that
   * were being created or deleted.
   */
  saved(): readonly SavedWorld[] {
    const saved: SavedWorld[] = [];
    for (const name of readdirSync(this.#folder)) {
      const [, worldId, part] = worldFile.exec(name) ?? [];
      if (worldId === undefined) continue;
      if (part !== undefined) this.#removeWithout(this.fileOf(worldId), name, part);
      else saved.push(...this.#savedWorld(worldId));
    }
    return saved.sort((one, other) => one.header.world.number - other.header.world.number);
  }

  /** Notes the last use of a world. */
  used(worldId: string, lastUsedMs: number): void {
    try {
      utimesSync(this.fileOf(worldId), lastUsedMs / 1_000, lastUsedMs / 1_000);
    } catch {
      // A full or read-only disk: the time of the last write counts.
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

  #savedWorld(worldId: string): readonly SavedWorld[] {
    const journal = this.fileOf(worldId);
    refuseLink(journal);
    const header = headerOf(journal);
    // Its creation was not answered.
    if (header === undefined || isUnfinishedFork(header, journal)) this.remove(worldId);
    else if (header.world === undefined) {
      throw new JournalError(`${journal}: not the journal of a world; move it away`);
    } else {
      const { world } = header;
      const lastUsedMs = Math.round(statSync(journal).mtimeMs);
      return [{ worldId, journal, header: { ...header, world }, lastUsedMs }];
    }
    return [];
  }

  #removeWithout(journal: string, name: string, part: string): void {
    if (existsSync(journal)) return;
    removeOwn(join(this.#folder, nameOf(name)), part === 'next' ? 'journal' : (part as Kind));
  }
}

/** What a link leads to belongs to another folder. */
function refuseLink(journal: string): void {
  if (lstatSync(journal, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new JournalError(`${journal}: it is a symbolic link; move it away`);
}

function headerOf(journal: string): JournalHeader | undefined {
  const text = readJournal(journal)?.header;
  return text === undefined ? undefined : readHeader(text, journal);
}

/** A fork begins with the state that it copies. */
function isUnfinishedFork({ world, checkpoint }: JournalHeader, journal: string): boolean {
  if (world?.is_fork !== true || checkpoint !== undefined) return false;
  const [first] = readJournal(journal)?.entries ?? [];
  return first === undefined;
}
