/**
 * The raw HTTP client of the tests: it writes exact bytes and reads exact bytes. A client library
 * would not send what a broken or hostile client sends, nor show the bytes received before a cut.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type RawReply, ReplyReader, WrongReply } from './http-reply.ts';

const deadlineMs = 20_000;

export class RawSocket {
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  #isClosed = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#reader.add(chunk.toString('latin1'));
      // Wakes the reader once for all bytes of a turn, since each look for an end reads them all.
      setImmediate(() => this.#wake());
    });
    // A reset also closes the connection.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  static async open(port: number, host = '127.0.0.1', allowHalfOpen = false): Promise<RawSocket> {
    const socket = connect({ port, host, allowHalfOpen });
    await once(socket, 'connect', { signal: AbortSignal.timeout(deadlineMs) });
    return new RawSocket(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Resolves once the kernel has the bytes and the server had a turn of the event loop. Text is
   * written as UTF-8. `cuts`: positions at which the bytes are split into packets, modulo their
   * length.
   */
  async write(bytes: string | Uint8Array, cuts: readonly number[] = []): Promise<void> {
    const all = Buffer.from(bytes);
    const positions = cuts.map((cut) => cut % (all.length + 1)).sort((a, b) => a - b);
    let start = 0;
    for (const end of [...positions, all.length]) {
      if (end === start) continue;
      const part = all.subarray(start, end);
      start = end;
      await new Promise((resolve) => this.#socket.write(part, resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The next whole reply to a request with this method. Throws a WrongReply if none arrives. */
  async reply(method = 'GET'): Promise<RawReply> {
    return this.#await(`the reply to ${method}`, () => this.#reader.next(method, this.#isClosed));
  }

  /** Waits for the text, and takes everything up to its end. */
  async until(text: string): Promise<string> {
    const taken = await this.#await(JSON.stringify(text), () => this.#reader.takeUntil(text));
    return Buffer.from(taken, 'latin1').toString();
  }

  /** Every byte that arrives until the connection is closed, as latin1. */
  async rest(): Promise<string> {
    while (!this.#isClosed) await this.#more(Number.POSITIVE_INFINITY);
    return this.#reader.rest;
  }

  /** Whole replies that arrived but were not read yet. */
  *leftovers(): Generator<RawReply> {
    for (;;) {
      const reply = this.#reader.next('GET', this.#isClosed);
      if (reply === undefined) return;
      yield reply;
    }
  }

  /** The server reads the end of the stream. */
  halfClose(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  /** Stops reading, as a stalled client does. */
  stall(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  async #await<T>(what: string, take: () => T | undefined): Promise<T> {
    const untilMs = performance.now() + deadlineMs;
    for (;;) {
      const wasClosed = this.#isClosed;
      const taken = take();
      if (taken !== undefined) return taken;
      const arrived = `; ${JSON.stringify(this.#reader.rest.slice(0, 300))} arrived`;
      if (wasClosed) throw new WrongReply(`closed before ${what}${arrived}`);
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw new WrongReply(`${what} did not come in ${deadlineMs} ms${arrived}`);
      await this.#more(leftMs);
    }
  }

  /** Resolves when bytes arrive, the connection closes, or the time is over. */
  #more(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(withinMs) ? setTimeout(resolve, withinMs) : undefined;
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** The bytes of a POST with its correct length. */
export function post(body: string, ...headers: string[]): string {
  const lines = headers.map((line) => `${line}\r\n`).join('');
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `POST /p HTTP/1.1\r\nHost: x\r\n${lines}${length}\r\n${body}`;
}

export function get(path = '/', ...headers: string[]): string {
  const lines = headers.map((line) => `${line}\r\n`).join('');
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${lines}\r\n`;
}
