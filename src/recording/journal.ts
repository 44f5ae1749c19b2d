/**
 * The interface for recording a run, and the journal of a run without a file: it keeps the inputs
 * since the start or the last reset in memory. Above its bound it drops all of them, because part
 * of a run cannot be replayed. `journal-file.ts` records in a file.
 */
import type { Settings } from '../config/settings.ts';
import { isoTime } from '../sim/iso-time.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import type { EndedEntry, Entry, RequestEntry } from './journal-entry.ts';
import { headerOf, type JournalHeader } from './journal-header.ts';

/** The bound of a run in memory. */
export const rememberedInputs = 10_000;
export const rememberedCharacters = 16 * 1024 * 1024;

export interface Journal {
  /** False once recording has stopped; callers can then skip building entries. */
  readonly isRecording: boolean;
  request(entry: RequestEntry): void;
  ended(entry: EndedEntry): void;
  operation(atMs: number, lever: string, args: readonly unknown[], result: string): void;
  /** The run as NDJSON: from the start, or from the last checkpoint. */
  text(): string;
  close(): Promise<void>;
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

  request(entry: RequestEntry): void {
    if (!this.isRecording) return;
    const {
      path,
      query = '',
      content_type: type = '',
      forwarded_for: forwarded = '',
    } = entry.request;
    const { body = '', body_base64: bytes = '', content_encoding: encoding = '' } = entry.request;
    const declared = type.length + encoding.length + forwarded.length;
    const sent = path.length + query.length + declared + body.length + bytes.length;
    this.#keep(entry, sent + entry.reply.body.length);
  }

  ended(entry: EndedEntry): void {
    if (this.isRecording) this.#keep(entry, 0);
  }

  operation(atMs: number, lever: string, args: readonly unknown[], result: string): void {
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

  async close(): Promise<void> {}

  #keep(entry: Entry, characters: number): void {
    this.#entries.push(entry);
    this.#characters += characters;
    if (this.#entries.length <= rememberedInputs && this.#characters <= rememberedCharacters)
      return;
    this.isRecording = false;
    this.#entries = [];
  }

  /** A reset restores the start state, so the recorded run begins there. */
  #startAgain(startedAtMs: number): void {
    this.#header = headerOf(this.#settings, startedAtMs);
    this.#entries = [];
    this.#characters = 0;
    this.isRecording = true;
  }
}
