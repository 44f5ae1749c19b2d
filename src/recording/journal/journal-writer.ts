/**
 * Records a run in a file. Every input is written before its reply is sent, so a killed process
 * loses no acknowledged input. The requests of one turn of the event loop share one write. It is
 * synchronous, so a slow file system slows the service, but it does not wait until the disk has the
 * data: what the operating system has survives the process.
 */
import {
  close,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { isoTime } from '#contract/time.ts';
import { createOwn, ownerOnly } from '#io/own-file.ts';
import { systemCodeOf } from '#io/plain-file.ts';
import type { EndedEntry, OperationEntry } from '#judging/evidence/journal-entry.ts';
import { JournalError, lineOf } from '#judging/evidence/journal-line.ts';
import { conflict } from '../../sim/errors.ts';
import type { RecordedExchange } from '../recorded-exchange.ts';
import type { Journal } from './journal.ts';
import type { JournalHeader } from './journal-header.ts';
import { type RecordedRun, readJournal } from './journal-lines.ts';
import { requestLines } from './request-line.ts';
import { type JournalFiles, openOwn } from './run-files.ts';

/** A larger journal file is not sent over the control port. */
export const journalTextLimitBytes = 256 * 1024 * 1024;

/** In place of a file descriptor. */
const closed = -1;
const isWindows = process.platform === 'win32';
const { O_APPEND, O_RDWR } = constants;

/** Watches the file grow and replaces it by a shorter one: `Checkpoints` implements it. */
export interface JournalWatch {
  /** `onDue` is called after each write once the file has at least this length. */
  readonly dueBytes: number;
  onDue(): void;
  /** Called when the disk is full. Returns true if it may have freed space. */
  makeRoom(): boolean;
  /** Returns a promise if something is still being written. */
  close(): Promise<void> | undefined;
}

/** The journal of a run in a file. One process writes it, under a lock (`journal-lock.ts`). */
export class FileJournal implements Journal {
  readonly keepsExchanges = false;
  readonly isFile = true;
  /** The length of the file: the end of its last line. */
  bytes: number;
  /** Inputs recorded since this process opened the file. */
  inputs = 0;
  readonly #path: string;
  readonly #files: JournalFiles;
  readonly #unlock: () => void;
  /** The file descriptor; `closed` after `close`, and if the file could not be opened again. */
  #file: number;
  #watch: JournalWatch | undefined;
  #failure: Error | undefined;

  /** `unlock` runs on close. `path`: the file as the user names it, for error messages. */
  constructor(path: string, files: JournalFiles, unlock: () => void, file = openJournal(files)) {
    this.#path = path;
    this.#files = files;
    this.#unlock = unlock;
    this.#file = file;
    this.bytes = fstatSync(this.#file).size;
  }

  /** Why a line could not be written; no later line is written then. */
  get failure(): string | undefined {
    return this.#failure?.message;
  }

  /** Shortens the file, to remove an incomplete last line. */
  truncate(bytes: number): void {
    ftruncateSync(this.#file, bytes);
    this.bytes = bytes;
  }

  begin(header: JournalHeader): void {
    this.#append(lineBytes(header));
  }

  watch(watch: JournalWatch): void {
    this.#watch = watch;
  }

  requests(exchanges: readonly RecordedExchange[]): void {
    this.#append(requestLines(exchanges));
    this.inputs += exchanges.length;
  }

  ended(entry: EndedEntry): void {
    this.#append(lineBytes(entry));
  }

  operation(atMs: number, operation: string, args: readonly unknown[], result: string): void {
    const entry: OperationEntry = { at: isoTime(atMs), operation, args, result };
    this.#append(lineBytes(entry));
    this.inputs++;
  }

  text(): string {
    const { size } = fstatSync(this.#file);
    if (size > journalTextLimitBytes)
      throw conflict(`the journal has ${size} bytes, too many for one reply: read the file`);
    return readBytes(this.#file, 0, size, this.#path).toString('utf8');
  }

  run(): RecordedRun {
    const lines = readJournal(this.#files.journal);
    if (lines?.header === undefined) throw new JournalError(`${this.#path}: removed meanwhile`);
    return { name: this.#path, header: lines.header, entries: lines.entries };
  }

  /**
   * Appends everything after `fromBytes` to the file `next`, then renames `next` over this file.
   * Synchronous, so that no input arrives in between.
   */
  continueIn(next: string, fromBytes: number): void {
    if (this.#failure !== undefined) throw this.#failure;
    const successor = openOwn(next, 'journal', O_APPEND | O_RDWR);
    if (successor === undefined) throw new JournalError(`${next}: removed by another program`);
    try {
      const tail = readBytes(this.#file, fromBytes, this.bytes, this.#path);
      for (let offset = 0; offset < tail.length; ) offset += writeSync(successor, tail, offset);
    } finally {
      closeSync(successor);
    }
    const replaced = this.#file;
    // Windows cannot replace an open file.
    if (isWindows) closeSync(replaced);
    try {
      renameSync(next, this.#files.journal);
    } finally {
      this.#reopen();
      // Freeing its blocks may take long, so another thread does it.
      if (!isWindows) close(replaced, () => {});
    }
  }

  /** Unlocks the journal once no checkpoint is being written. */
  async close(): Promise<void> {
    if (this.#file !== closed) closeSync(this.#file);
    this.#file = closed;
    const watchEnded = this.#watch?.close();
    if (watchEnded !== undefined) await watchEnded;
    this.#unlock();
  }

  /** After a failed write, all later ones fail: a replay without its lines would differ. */
  #append(lines: Buffer): void {
    if (this.#failure !== undefined) throw this.#failure;
    for (let offset = 0; offset < lines.length; ) offset += this.#write(lines, offset);
    this.bytes += lines.length;
    if (this.#watch !== undefined && this.bytes >= this.#watch.dueBytes) this.#watch.onDue();
  }

  /** Returns how many bytes it has written. If the disk is full, first tries to free space. */
  #write(bytes: Uint8Array, offset: number): number {
    for (;;) {
      try {
        return writeSync(this.#file, bytes, offset);
      } catch (error) {
        if (systemCodeOf(error) === 'ENOSPC' && this.#watch?.makeRoom() === true) continue;
        this.#failure = new JournalError(`${this.#path}: cannot be written: ${String(error)}`);
        this.#removeUnanswered();
        throw this.#failure;
      }
    }
  }

  /** Removes what a failed write has left: the clients of these requests get an error. */
  #removeUnanswered(): void {
    try {
      ftruncateSync(this.#file, this.bytes);
    } catch {
      // The next start removes an incomplete line; a whole one is an input without a seen reply.
    }
  }

  #reopen(): void {
    this.#file = closed;
    try {
      this.#file = openJournal(this.#files);
      this.bytes = fstatSync(this.#file).size;
    } catch (error) {
      this.#failure = error as Error;
    }
  }
}

function lineBytes(value: object): Buffer {
  return Buffer.from(lineOf(value));
}

function openJournal({ journal }: JournalFiles): number {
  try {
    const flags = O_APPEND | O_RDWR;
    const file = openOwn(journal, 'journal', flags) ?? createOwn(journal);
    // The journal holds message texts: only its owner may read them.
    fchmodSync(file, ownerOnly);
    return file;
  } catch (error) {
    if (error instanceof JournalError) throw error;
    throw new JournalError(`${journal}: cannot open the journal (${systemCodeOf(error)})`);
  }
}

/** Reads the bytes from `from` up to `to`. `path`: for the error message. */
function readBytes(file: number, from: number, to: number, path: string): Buffer {
  const bytes = Buffer.allocUnsafe(to - from);
  for (let offset = 0; offset < bytes.length; ) {
    const bytesRead = readSync(file, bytes, offset, bytes.length - offset, from + offset);
    if (bytesRead === 0) {
      throw new JournalError(
        `${path}: shorter than the data written to it; another program may have changed it`,
      );
    }
    offset += bytesRead;
  }
  return bytes;
}
