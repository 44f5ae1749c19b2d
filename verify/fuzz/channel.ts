/**
 * One connection that writes exact bytes, cut where it is told, and waits for exactly the replies that must come.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Bytes } from './piece.ts';
import { type Reply, ReplyReader, WrongReply } from './reply.ts';

const deadlineMs = 20_000;

export class Channel {
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  #isClosed = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#reader.add(chunk.toString('latin1'));
      this.#wake();
    });
    // A reset is one way of being closed.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  static async open(port: number): Promise<Channel> {
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect', { signal: AbortSignal.timeout(deadlineMs) });
    return new Channel(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** `cuts`: where the bytes are cut, each part going out by itself; taken modulo their length. */
  async write(bytes: Bytes, cuts: readonly number[] = []): Promise<void> {
    const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
    let from = 0;
    for (const to of places) {
      if (to === from) continue;
      this.#socket.write(bytes.slice(from, to), 'latin1');
      from = to;
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#socket.write(bytes.slice(from), 'latin1');
  }

  /** The next reply to a request with this method, which must come. */
  async reply(method: string): Promise<Reply> {
    const untilMs = performance.now() + deadlineMs;
    for (;;) {
      const reply = this.#reader.next(method, this.#isClosed);
      if (reply !== undefined) return reply;
      const got = `; ${JSON.stringify(this.#reader.rest.slice(0, 300))} arrived`;
      if (this.#isClosed) throw new WrongReply(`closed before the reply to ${method}${got}`);
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw new WrongReply(`no reply to ${method} within ${deadlineMs} ms${got}`);
      await this.#more(leftMs);
    }
  }

  /** What has arrived unasked, or in answer to what was broken: whole replies alone. */
  *leftovers(): Generator<Reply> {
    for (;;) {
      const reply = this.#reader.next('GET', this.#isClosed);
      if (reply === undefined) return;
      yield reply;
    }
  }

  finish(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #more(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
