/**
 * The run as it is recorded. With a file, every input is in it before its reply leaves, so a killed process
 * loses nothing that it has acknowledged; writing to the system is enough for that, so nothing waits for a disk.
 * Without a file, the first inputs since the start or the last reset are kept in memory, up to a bound beyond
 * which the whole of it is dropped: half a run cannot be played again.
 */
import { closeSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import type { Handled } from '../http/service/api.ts';
import type { ApiRequest } from '../http/service/messages.ts';
import { LeverError } from '../sim/lever-error.ts';
import { isoTime } from '../sim/message.ts';
import { type Entry, type LeverEntry, requestEntry } from './journal-entry.ts';
import { JournalError } from './journal-error.ts';
import { headerOf, type JournalHeader } from './journal-header.ts';

/** What memory keeps without a file. */
export const rememberedInputs = 10_000;
export const rememberedCharacters = 16 * 1024 * 1024;
/** A longer journal file is not sent over the control port. */
export const journalTextLimitBytes = 256 * 1024 * 1024;

export interface Journal {
  /** False once nothing more is recorded: nobody then needs to make an entry. */
  readonly isRecording: boolean;
  request(atMs: number, request: ApiRequest, handled: Handled): void;
  lever(atMs: number, lever: string, args: readonly unknown[], result: string): void;
  /** The whole run as NDJSON. */
  text(): string;
  close(): void;
}

export class MemoryJournal implements Journal {
  readonly #settings: Settings;
  #header: JournalHeader;
  #entries: Entry[] = [];
  #characters = 0;
  isRecording = true;

  constructor(settings: Settings, startedAtMs: number) {
    this.#settings = settings;
    this.#header = headerOf(settings, startedAtMs);
  }

  request(atMs: number, request: ApiRequest, handled: Handled): void {
    if (!this.isRecording) return;
    const { path, query, contentType = '', forwardedFor = '', body } = request;
    const head = path.length + query.length + contentType.length + forwardedFor.length;
    this.#keep(
      requestEntry(atMs, request, handled),
      head + body.length + handled.reply.body.length,
    );
  }

  lever(atMs: number, lever: string, args: readonly unknown[], result: string): void {
    if (lever === 'reset') this.#startAgain(Number(args[0]));
    else if (this.isRecording) {
      const text = JSON.stringify(args);
      const copied = JSON.parse(text) as unknown[];
      this.#keep({ at: isoTime(atMs), lever, args: copied, result }, text.length);
    }
  }

  text(): string {
    if (!this.isRecording) {
      throw new LeverError(
        'conflict',
        `the run is too long for memory, which keeps ${rememberedInputs} inputs since the last reset: start with --journal FILE`,
      );
    }
    return [this.#header, ...this.#entries].map((line) => `${JSON.stringify(line)}\n`).join('');
  }

  close(): void {}

  #keep(entry: Entry, characters: number): void {
    this.#entries.push(entry);
    this.#characters += characters;
    if (this.#entries.length <= rememberedInputs && this.#characters <= rememberedCharacters)
      return;
    this.isRecording = false;
    this.#entries = [];
  }

  /** After a reset the world is as at a start, so the run begins there. */
  #startAgain(startedAtMs: number): void {
    this.#header = headerOf(this.#settings, startedAtMs);
    this.#entries = [];
    this.#characters = 0;
    this.isRecording = true;
  }
}

export class FileJournal implements Journal {
  readonly #path: string;
  readonly #file: number;
  readonly #unlock: () => void;
  readonly isRecording = true;
  #failure: JournalError | undefined;

  /** Appends to what is there. `unlock`: called when it is closed. */
  constructor(path: string, unlock: () => void) {
    this.#path = path;
    this.#unlock = unlock;
    this.#file = openJournal(path);
  }

  begin(header: JournalHeader): void {
    this.#append(header);
  }

  request(atMs: number, request: ApiRequest, handled: Handled): void {
    this.#append(requestEntry(atMs, request, handled));
  }

  lever(atMs: number, lever: string, args: readonly unknown[], result: string): void {
    this.#append({ at: isoTime(atMs), lever, args, result } satisfies LeverEntry);
  }

  text(): string {
    const { size } = fstatSync(this.#file);
    if (size <= journalTextLimitBytes) return readFileSync(this.#path, 'utf8');
    throw new LeverError('conflict', `the journal has ${size} bytes: read the file itself`);
  }

  close(): void {
    closeSync(this.#file);
    this.#unlock();
  }

  /** What could not be recorded must not be answered, nor anything after it: it would be lost or play differently. */
  #append(line: Entry | JournalHeader): void {
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    } catch (error) {
      this.#failure = new JournalError(`${this.#path}: cannot be written: ${String(error)}`);
      throw this.#failure;
    }
  }
}

function openJournal(path: string): number {
  try {
    // What people wrote to each other is for its owner alone.
    return openSync(path, 'a', 0o600);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new JournalError(`${path}: the journal cannot be opened (${code})`);
  }
}
