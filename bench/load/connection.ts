/**
 * One keep-alive connection of an open loop, with one request at a time. It parses a reply only as
 * far as to find its end: Node's own client costs several times as much, and would limit the load.
 */
import { connect, type Socket } from 'node:net';
import type { Target } from './workload.ts';

export interface ConnectionListener {
  /** A reply has arrived; `startedMs` is that of its request. */
  reply(status: number, startedMs: number): void;
  /** The reply is whole, and the connection takes another request. */
  free(connection: Connection): void;
  /** The connection is closed; `wasBusy`: its request has no reply. */
  broken(connection: Connection, ending: { readonly wasBusy: boolean }): void;
}

/** A longer reply counts as one that never ends: its connection is closed. */
export const mostReplyBytes = 1_048_576;
/** A connection that is silent for this long is closed: its reply may never come. */
const longestSilenceMs = 10_000;
const noBytes = Buffer.alloc(0);

export class Connection {
  readonly #target: Target;
  readonly #listener: ConnectionListener;
  #socket: Socket | undefined;
  #received: Buffer = noBytes;
  #startedMs = 0;
  #isBusy = false;
  /** How often it was opened since its last reply. */
  attempts = 0;

  constructor(target: Target, listener: ConnectionListener) {
    this.#target = target;
    this.#listener = listener;
  }

  open(): Promise<void> {
    this.attempts++;
    return new Promise((resolve, reject) => {
      const socket = connect({ ...this.#target, noDelay: true });
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.on('error', () => {});
        socket.on('close', () => this.#closed(socket));
        resolve();
      });
      socket.once('error', reject);
      socket.on('data', (chunk: Buffer) => this.#receive(chunk));
      // With an error, so that a connection that hangs while it opens rejects.
      const silence = `silent for ${longestSilenceMs / 1_000} s`;
      socket.setTimeout(longestSilenceMs, () => socket.destroy(new Error(silence)));
      this.#socket = socket;
    });
  }

  send(bytes: Buffer, startedMs: number): void {
    this.#isBusy = true;
    this.#startedMs = startedMs;
    // A copy: the bytes may be changed for another connection before the kernel has taken them.
    this.#socket?.write(Buffer.from(bytes));
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const reply = wholeReply(bytes);
    if (reply === undefined) {
      this.#received = bytes;
      if (bytes.length > mostReplyBytes) this.#socket?.destroy();
      return;
    }
    this.#received = noBytes;
    this.#isBusy = false;
    this.attempts = 0;
    this.#listener.reply(reply.status, this.#startedMs);
    if (reply.isLast) this.#socket?.destroy();
    else this.#listener.free(this);
  }

  #closed(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#received = noBytes;
    const wasBusy = this.#isBusy;
    this.#isBusy = false;
    this.#listener.broken(this, { wasBusy });
  }
}

/** The end of a chunked body without trailers. */
const lastChunk = '\r\n0\r\n\r\n';
const framing = /\r\ncontent-length: *(\d+)|\r\ntransfer-encoding: *(chunked)/i;
const closing = /^HTTP\/1\.0|\r\nconnection: *close/i;

/** The reply; undefined until it is complete. Only one request is in flight: no other follows. */
function wholeReply(bytes: Buffer): { status: number; isLast: boolean } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const [, length = 0, chunked] = framing.exec(head) ?? [];
  const isWhole =
    chunked === undefined
      ? bytes.length >= headEnd + 4 + Number(length)
      : bytes.toString('latin1', bytes.length - lastChunk.length) === lastChunk;
  if (!isWhole) return undefined;
  // The three digits after `HTTP/1.1 `.
  return { status: Number(head.slice(9, 12)), isLast: closing.test(head) };
}
