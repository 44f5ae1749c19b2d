/**
 * One keep-alive connection with one request at a time; it reads just enough to find the end of a
 * reply. Node's own client costs several times as much, and the generator is the bottleneck.
 */
import { connect, type Socket } from 'node:net';
import { mostReplyBytes, type Target } from './workload.ts';

export interface ConnectionListener {
  reply(connection: OpenConnection, status: number, intendedMs: number): void;
  broken(connection: OpenConnection, wasBusy: boolean): void;
}

const noBytes = Buffer.alloc(0);

export class OpenConnection {
  readonly #target: Target;
  readonly #listener: ConnectionListener;
  #socket: Socket | undefined;
  #received: Buffer = noBytes;
  #intendedMs = 0;
  #isBusy = false;
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
        resolve();
      });
      socket.once('error', reject);
      socket.on('data', (chunk: Buffer) => this.#receive(chunk));
      socket.on('close', () => this.#closed(socket));
      this.#socket = socket;
    });
  }

  send(bytes: Buffer, intendedMs: number): void {
    this.#isBusy = true;
    this.#intendedMs = intendedMs;
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
    const length = replyLength(bytes);
    if (length === undefined || bytes.length < length) {
      this.#received = bytes;
      if (bytes.length > mostReplyBytes) this.#socket?.destroy();
      return;
    }
    this.#received = noBytes;
    this.#isBusy = false;
    const status = Number(bytes.toString('latin1', 9, 12));
    this.#listener.reply(this, status, this.#intendedMs);
  }

  #closed(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#received = noBytes;
    const wasBusy = this.#isBusy;
    this.#isBusy = false;
    this.#listener.broken(this, wasBusy);
  }
}

const lengthHeader = /\r\ncontent-length: *(\d+)/i;

/**
 * Length of the whole reply, known once its head is complete. The service always states a length.
 */
function replyLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = lengthHeader.exec(bytes.toString('latin1', 0, headEnd));
  return headEnd + 4 + Number(length?.[1] ?? 0);
}
