/**
 * Records a run. With a file, every input is written before its reply leaves, so a killed process
 * loses nothing that it acknowledged; data handed to the system survives the process, so no write
 * waits for the disk. Without a file, memory keeps the inputs since the start or the last reset;
 * past a bound all of them are dropped, because part of a run cannot be replayed.
 */
import { closeSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import type { Handled } from '../http/service/api.ts';
import type { ApiRequest } from '../http/service/messages.ts';
import { isoTime } from '../sim/iso-time.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { type Entry, type LeverEntry, requestEntry } from './journal-entry.ts';
import { JournalError } from './journal-error.ts';
import { headerOf, type JournalHeader } from './journal-header.ts';

/** Bound of a run in memory. */
export const rememberedInputs = 10_000;
export const rememberedCharacters = 16 * 1024 * 1024;
/** A larger journal file is not sent over the control port. */
export const journalTextLimitBytes = 256 * 1024 * 1024;

export interface Journal {
  /** False once recording has stopped; callers can then skip building entries. */
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
    const { path, query, contentType = '', contentEncoding = '', forwardedFor = '' } = request;
    const { body } = request;
    const declared = contentType.length + contentEncoding.length;
    const head = path.length + query.length + declared + forwardedFor.length;
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
      throw new OperationRefused(
        'conflict',
        `too long for memory, which keeps ${rememberedInputs} inputs since the last reset: ` +
          'start with --journal FILE',
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

  /** A reset restores the start, so the recorded run begins there. */
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

  /** Appends to the file; `unlock` runs on close. */
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
    throw new OperationRefused(
      'conflict',
      `the journal has ${size} bytes, too many for one reply: read the file`,
    );
  }

  close(): void {
    closeSync(this.#file);
    this.#unlock();
  }

  /** After a failed write no input is answered: later ones would replay differently. */
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
    // The journal holds message texts: only its owner may read them.
    return openSync(path, 'a', 0o600);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new JournalError(`${path}: cannot open the journal (${code})`);
  }
}
