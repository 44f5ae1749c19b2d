/**
 * The files of a recording. Lines wait in memory and are written beside the traffic, never in its
 * way: while the disk is full or slow, traffic goes on, and exchanges beyond the bound are counted
 * and left out. A new file begins when one has reached its size: `out.ndjson`, `out-2.ndjson`, ….
 */
import { existsSync, promises, statSync } from 'node:fs';
import { parse } from 'node:path';
import { CommandError } from '../commands/command-error.ts';
import { many } from '../commands/table.ts';
import { reasonOf } from '../config/plain-file.ts';
import { isRecording } from './read-traffic.ts';

/** Exchanges that wait for the disk. */
export const mostWaitingLines = 20_000;
export const mostWaitingBytes = 128 * 1_048_576;
const batchLines = 200;
const retryMs = 5_000;
const ownerOnly = 0o600;

/** What is written is made as late as possible; `bytes` is about what it holds in memory. */
export interface Waiting {
  readonly bytes: number;
  readonly line: () => string;
}

export class RecordingFile {
  readonly #out: string;
  readonly #rotateBytes: number;
  readonly #notice: (line: string) => void;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #number: number;
  #handle: promises.FileHandle | undefined;
  #size = 0;
  /** True if the file may end with a part of a line. */
  #isTorn = false;
  #isFailing = false;
  #retryAt = 0;
  #dropped = 0;
  #pumping: Promise<void> | undefined;

  /** Throws a CommandError if the file is not a recording. Appends to the last file. */
  constructor(out: string, rotateBytes: number, notice: (line: string) => void) {
    this.#out = out;
    this.#rotateBytes = rotateBytes;
    this.#notice = notice;
    this.#number = 1;
    while (existsSync(fileOf(out, this.#number + 1))) this.#number++;
    checkOwn(this.#path);
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
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined;
    });
  }

  /** Writes what waits, as far as the disk lets it. */
  async close(): Promise<void> {
    this.#retryAt = 0;
    await this.#pumping;
    if (this.#waiting.length > 0) {
      this.#retryAt = 0;
      await this.#pump();
    }
    await this.#handle?.close().catch(() => {});
    const lost = this.#dropped + this.#waiting.length;
    if (lost > 0) this.#notice(`${this.#path}: ${many(lost, 'exchange')} not recorded`);
  }

  async #pump(): Promise<void> {
    // Lets the reply go out first.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && performance.now() >= this.#retryAt) {
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
    this.#retryAt = performance.now() + retryMs;
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
function checkOwn(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const isOther = found !== undefined && (!found.isFile() || found.size > 0);
  if (isOther && !isRecording(path))
    throw new CommandError(2, `${path}: not a recording of smstwin; name another --out`);
}
