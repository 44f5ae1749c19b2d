/**
 * The files of a recording. Exchanges wait in memory until they are written, so traffic never waits
 * for the disk: if the disk is full or slow, exchanges beyond a bound are left out and counted.
 * When a file has reached its size, the next one begins: `out.ndjson`, `out-2.ndjson`, …. A name is
 * skipped if a file of another program has it.
 */
import {
  appendFile,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  readSync,
} from 'node:fs';
import { parse } from 'node:path';
import { promisify } from 'node:util';
import { firstLine, UsageError } from '#io/command-error.ts';
import { inSlices } from '#io/event-loop.ts';
import { createOwn, type OwnKind, openOwn, ownerOnly } from '#io/own-file.ts';
import { reasonOf } from '#io/plain-file.ts';
import { counted } from '#io/terminal.ts';
import { lineOpening } from '#judging/evidence/recorded-line.ts';

/** The bounds of the exchanges that wait for the disk. */
const mostWaitingLines = 20_000;
export const mostWaitingBytes = 128 * 1_048_576;
const batchLines = 200;
/** The time from a failed write to the next one. */
const retryMs = 5_000;
const append = promisify(appendFile);
const recordingKind: OwnKind = {
  name: 'recording',
  isOwn: (start) => start.search(lineOpening) === 0,
  isContinued: true,
};

export interface Waiting {
  /** An estimate of the memory that it takes. */
  readonly bytes: number;
  /** Makes its line, which costs too much to be done while the reply waits. */
  readonly line: () => Generator<undefined, object>;
}

export class RecordingFile {
  readonly #out: string;
  readonly #rotateBytes: number;
  readonly #notice: (line: string) => void;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #number = 1;
  #file: number | undefined;
  #size = 0;
  /** True if the file may end with a part of a line. */
  #isTorn = false;
  #isFailing = false;
  /** When to write again after a failure, as `performance.now()` counts. */
  #retryAtMs = 0;
  #dropped = 0;
  /** Set while the waiting exchanges are being written. */
  #writing: Promise<void> | undefined;

  /** Opens the last file. Throws a UsageError if it is not a recording, or cannot be written. */
  constructor(out: string, rotateBytes: number, notice: (line: string) => void) {
    this.#out = out;
    this.#rotateBytes = rotateBytes;
    this.#notice = notice;
    while (lstatSync(fileOf(out, this.#number + 1), { throwIfNoEntry: false })) this.#number++;
    try {
      this.#open();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        throw new UsageError(`--out ${out}: there is no such folder; create it`);
      throw new UsageError(`${this.#path}: ${reasonOf(error)}; name another --out`);
    }
  }

  get #path(): string {
    return fileOf(this.#out, this.#number);
  }

  add(waiting: Waiting): void {
    const bytes = this.#waitingBytes + waiting.bytes;
    if (this.#waiting.length >= mostWaitingLines || bytes > mostWaitingBytes) {
      this.#leaveOut('too slow');
      return;
    }
    this.#waiting.push(waiting);
    this.#waitingBytes = bytes;
    this.#writing ??= this.#writeWaiting().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Writes the waiting exchanges if the disk lets it; otherwise they count as not recorded. */
  async close(): Promise<void> {
    // The last write may fail and postpone the next one: what is left is tried once more, at once.
    this.#retryAtMs = 0;
    await this.#writing;
    this.#retryAtMs = 0;
    await this.#writeWaiting();
    this.#closeFile();
    const lost = this.#dropped + this.#waiting.length;
    if (lost > 0) this.#notice(`${this.#path}: ${counted(lost, 'exchange')} not recorded`);
  }

  async #writeWaiting(): Promise<void> {
    // The reply is sent first.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && performance.now() >= this.#retryAtMs) {
      const batch = this.#waiting.slice(0, batchLines);
      const lines = await inSlices(this.#linesOf(batch));
      const text = `${this.#isTorn ? '\n' : ''}${lines}`;
      try {
        await this.#write(Buffer.from(text));
      } catch (error) {
        this.#failed(error);
        return;
      }
      this.#waiting.splice(0, batch.length);
      for (const { bytes } of batch) this.#waitingBytes -= bytes;
    }
  }

  /** Makes the lines of a batch in slices. If one cannot be made, only its exchange is left out. */
  *#linesOf(batch: readonly Waiting[]): Generator<undefined, string> {
    let lines = '';
    for (const { line } of batch) {
      try {
        lines += `${JSON.stringify(yield* line())}\n`;
      } catch (error) {
        this.#leaveOut(`an exchange has no line (${firstLine(String(error))})`);
      }
      yield;
    }
    return lines;
  }

  /** Counts an exchange that is left out; says so at the first one. */
  #leaveOut(why: string): void {
    if (this.#dropped++ === 0)
      this.#notice(`${this.#path}: ${why}; traffic goes on, and exchanges are left out`);
  }

  async #write(bytes: Buffer): Promise<void> {
    const isFull = this.#size > 0 && this.#size + bytes.length > this.#rotateBytes;
    if (isFull && this.#file !== undefined) {
      this.#closeFile();
      this.#number++;
    }
    await append(this.#file ?? this.#open(), bytes);
    this.#size += bytes.length;
    this.#isTorn = false;
    if (this.#isFailing) this.#notice(`${this.#path}: written again`);
    this.#isFailing = false;
  }

  /** Opens the last file of the recording, or creates the next one. */
  #open(): number {
    const file = this.#openLast() ?? this.#create();
    this.#file = file;
    this.#size = fstatSync(file).size;
    const last = Buffer.alloc(1);
    if (this.#size > 0) readSync(file, last, 0, 1, this.#size - 1);
    this.#isTorn = this.#size > 0 && last.toString() !== '\n';
    return file;
  }

  /** Undefined if there is no such file, or one of another program that the user did not name. */
  #openLast(): number | undefined {
    try {
      const file = openOwn(this.#path, recordingKind, constants.O_APPEND | constants.O_RDWR);
      // A file that existed keeps its mode when it is opened.
      if (file !== undefined) fchmodSync(file, ownerOnly);
      return file;
    } catch (error) {
      if (this.#number === 1) throw error;
      return undefined;
    }
  }

  /** Creates the first file of the recording whose name is free. */
  #create(): number {
    for (; ; this.#number++) {
      try {
        return createOwn(this.#path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #failed(error: unknown): void {
    this.#isTorn = true;
    this.#retryAtMs = performance.now() + retryMs;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#notice(`${this.#path}: cannot be written (${reasonOf(error)}); traffic goes on`);
  }
}

function fileOf(out: string, number: number): string {
  if (number === 1) return out;
  const { dir, name, ext } = parse(out);
  return `${dir === '' ? '' : `${dir}/`}${name}-${number}${ext}`;
}
