/**
 * Records a run in a file. Every input is written before its reply is sent, so a killed process
 * loses no acknowledged input. Data passed to the operating system survives the process, so a write
 * does not wait for the disk. Nothing is buffered, so a slow disk slows the service.
 */
import {
  appendFileSync,
  close,
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { isoTime } from '../sim/iso-time.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import type { Journal } from './journal.ts';
import type { EndedEntry, Entry, OperationEntry, RequestEntry } from './journal-entry.ts';
import { codeOf, JournalError } from './journal-error.ts';
import type { JournalHeader } from './journal-header.ts';

/** A larger journal file is not sent over the control port. */
export const journalTextLimitBytes = 256 * 1024 * 1024;

const isWindows = process.platform === 'win32';

/** Is notified when the file grows; see `checkpoints.ts`. */
export interface JournalWatch {
  /** `onDue` is called after each input once the file has at least this length. */
  readonly dueBytes: number;
  onDue(): void;
  /** Called when the disk is full; returns true if it may have freed space. */
  makeRoom(): boolean;
  /** Returns a promise if something is still being written. */
  close(): Promise<void> | undefined;
}

export class FileJournal implements Journal {
  readonly isRecording = true;
  readonly #path: string;
  readonly #unlock: () => void;
  #file: number;
  #bytes: number;
  #inputs = 0;
  #watch: JournalWatch | undefined;
  #failure: JournalError | undefined;

  /** Appends to the file; `unlock` runs on close. */
  constructor(path: string, unlock: () => void) {
    this.#path = path;
    this.#unlock = unlock;
    this.#file = openJournal(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  /** The length of the file: the end of its last line. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Inputs recorded since this process opened the file. */
  get inputs(): number {
    return this.#inputs;
  }

  /** Removes an incomplete last line. */
  truncate(bytes: number): void {
    truncateSync(this.#path, bytes);
    this.#bytes = bytes;
  }

  begin(header: JournalHeader): void {
    this.#append(header);
  }

  watch(watch: JournalWatch): void {
    this.#watch = watch;
  }

  request(entry: RequestEntry): void {
    this.#record(entry);
  }

  ended(entry: EndedEntry): void {
    this.#append(entry);
  }

  operation(atMs: number, lever: string, args: readonly unknown[], result: string): void {
    this.#record({ at: isoTime(atMs), lever, args, result } satisfies OperationEntry);
  }

  text(): string {
    const { size } = fstatSync(this.#file);
    if (size <= journalTextLimitBytes) return readFileSync(this.#path, 'utf8');
    throw new OperationRefused(
      'conflict',
      `the journal has ${size} bytes, too many for one reply: read the file`,
    );
  }

  /**
   * Appends everything after `fromBytes` to the file `next`, then renames `next` over this file.
   * Synchronous, so that no input arrives in between.
   */
  continueIn(next: string, fromBytes: number): void {
    if (this.#failure !== undefined) throw this.#failure;
    appendFileSync(next, bytesOf(this.#path, fromBytes, this.#bytes));
    const replaced = this.#file;
    // Windows cannot replace an open file.
    if (isWindows) closeSync(replaced);
    try {
      renameSync(next, realpathSync(this.#path));
    } finally {
      this.#reopen();
      // Freeing its blocks may take long, so another thread does it.
      if (!isWindows) close(replaced, () => {});
    }
  }

  /** Unlocks the journal once no checkpoint is being written. */
  async close(): Promise<void> {
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
    const ending = this.#watch?.close();
    if (ending !== undefined) await ending;
    this.#unlock();
  }

  #record(entry: Entry): void {
    this.#append(entry);
    this.#inputs++;
    if (this.#watch !== undefined && this.#bytes >= this.#watch.dueBytes) this.#watch.onDue();
  }

  /** After a failed write, no input is answered: later ones would replay differently. */
  #append(line: Entry | JournalHeader): void {
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let at = 0; at < bytes.length; ) at += this.#write(bytes, at);
    this.#bytes += bytes.length;
  }

  #write(bytes: Buffer, at: number): number {
    try {
      return writeSync(this.#file, bytes, at);
    } catch (error) {
      if (codeOf(error) === 'ENOSPC' && this.#watch?.makeRoom() === true) return 0;
      this.#failure = new JournalError(`${this.#path}: cannot be written: ${String(error)}`);
      throw this.#failure;
    }
  }

  #reopen(): void {
    this.#file = -1;
    try {
      this.#file = openJournal(this.#path);
      this.#bytes = fstatSync(this.#file).size;
    } catch (error) {
      this.#failure = error as JournalError;
    }
  }
}

function openJournal(path: string): number {
  try {
    // The journal holds message texts: only its owner may read them.
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw new JournalError(`${path}: cannot open the journal (${codeOf(error)})`);
  }
}

function bytesOf(path: string, from: number, to: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(to - from);
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, bytes.length - at, from + at);
      if (read === 0)
        throw new JournalError(
          `${path}: shorter than the data written to it; another program may have changed it`,
        );
      at += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
