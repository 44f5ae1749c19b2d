/**
 * The files of a recording. Exchanges wait in memory until they are written, so traffic never waits
 * for the disk: if the disk is full or slow, exchanges beyond a bound are left out and counted.
 * When a file has reached its size, the next one begins: `out.ndjson`, `out-2.ndjson`, ….
 */
import { existsSync, promises, statSync } from 'node:fs';
import { parse } from 'node:path';
import { CommandError } from '#io/command-error.ts';
import { reasonOf } from '#io/plain-file.ts';
import { many } from '#io/table.ts';
import { isRecording } from '#judging/evidence/read-traffic.ts';

/** The bounds of the exchanges that wait for the disk. */
export const mostWaitingLines = 20_000;
export const mostWaitingBytes = 128 * 1_048_576;
const batchLines = 200;
const retryMs = 5_000;
const ownerOnly = 0o600;

/** An exchange that waits to be written. */
export interface Waiting {
  /** About how much memory it takes. */
  readonly bytes: number;
  /** Makes its line, which costs too much to be done while the reply waits. */
  readonly line: () => string;
}

export class RecordingFile {
  readonly #out: string;
  readonly #rotateBytes: number;
  readonly #notice: (line: string) => void;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** The number of the present file, from 1. */
  #number: number;
  #handle: promises.FileHandle | undefined;
  /** The bytes of the present file. */
  #size = 0;
  /** True if the file may end with a part of a line. */
  #isTorn = false;
  #isFailing = false;
  /** When to write again after a failure, as `performance.now()` counts. */
  #retryAtMs = 0;
  /** How many exchanges were left out. */
  #dropped = 0;
  /** Set while the waiting exchanges are being written. */
  #writing: Promise<void> | undefined;

  /** Throws a CommandError if the file is not a recording. Appends to the last file. */
  constructor(out: string, rotateBytes: number, notice: (line: string) => void) {
    this.#out = out;
    this.#rotateBytes = rotateBytes;
    this.#notice = notice;
    this.#number = 1;
    while (existsSync(fileOf(out, this.#number + 1))) this.#number++;
    checkIsRecording(this.#path);
  }

  get #path(): string {
    return fileOf(this.#out, this.#number);
  }

  /** Opens the file, so that a mistake shows at the start. */
  async open(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      throw new CommandError(2, `${this.#path}: ${reasonOf(error)}`);
    }
  }

  add(waiting: Waiting): void {
    const isFull =
      this.#waiting.length >= mostWaitingLines ||
      this.#waitingBytes + waiting.bytes > mostWaitingBytes;
    if (isFull) {
      if (this.#dropped++ === 0)
        this.#notice(`${this.#path}: too slow; traffic goes on, and exchanges are left out`);
      return;
    }
    this.#waiting.push(waiting);
    this.#waitingBytes += waiting.bytes;
    this.#writing ??= this.#writeWaiting().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Writes the waiting exchanges if the disk lets it; otherwise they count as not recorded. */
  async close(): Promise<void> {
    this.#retryAtMs = 0;
    await this.#writing;
    if (this.#waiting.length > 0) {
      this.#retryAtMs = 0;
      await this.#writeWaiting();
    }
    await this.#handle?.close().catch(() => {});
    const lost = this.#dropped + this.#waiting.length;
    if (lost > 0) this.#notice(`${this.#path}: ${many(lost, 'exchange')} not recorded`);
  }

  async #writeWaiting(): Promise<void> {
    // Lets the reply go out first.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && performance.now() >= this.#retryAtMs) {
      const batch = this.#waiting.slice(0, batchLines);
      const text = `${this.#isTorn ? '\n' : ''}${batch.map(({ line }) => `${line()}\n`).join('')}`;
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

  async #write(bytes: Buffer): Promise<void> {
    const isFull = this.#size > 0 && this.#size + bytes.length > this.#rotateBytes;
    if (isFull && this.#handle !== undefined) {
      await this.#handle.close();
      this.#handle = undefined;
      this.#number++;
    }
    if (this.#handle === undefined) await this.#open();
    await this.#handle?.appendFile(bytes);
    this.#size += bytes.length;
    this.#isTorn = false;
    if (this.#isFailing) this.#notice(`${this.#path}: written again`);
    this.#isFailing = false;
  }

  async #open(): Promise<void> {
    const handle = await promises.open(this.#path, 'a+', ownerOnly);
    this.#handle = handle;
    // A file that existed keeps its mode when it is opened.
    await handle.chmod(ownerOnly);
    this.#size = (await handle.stat()).size;
    const last = Buffer.alloc(1);
    if (this.#size > 0) await handle.read(last, 0, 1, this.#size - 1);
    this.#isTorn = this.#size > 0 && last.toString() !== '\n';
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

/** Refuses to append to a file that smstwin did not record. */
function checkIsRecording(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const isOther = found !== undefined && (!found.isFile() || found.size > 0);
  if (isOther && !isRecording(path))
    throw new CommandError(2, `${path}: not a recording of smstwin; name another --out`);
}
