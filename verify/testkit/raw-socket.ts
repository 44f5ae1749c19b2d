/**
 * A client for the tests that writes exact bytes and reads exact bytes: no client library would send
 * what a broken or hostile one does, or show what arrived before a connection was cut.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class RawSocket {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake();
    });
    // A reset is one way of being closed.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  static async open(port: number, host = '127.0.0.1', allowHalfOpen = false): Promise<RawSocket> {
    const socket = connect({ port, host, allowHalfOpen });
    await once(socket, 'connect');
    return new RawSocket(socket);
  }

  /** Resolves once the bytes were handed to the kernel and the server has had its turn. */
  async write(bytes: string | Uint8Array): Promise<void> {
    await new Promise((resolve) => this.#socket.write(bytes, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Announces that nothing more will be written. */
  finish(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Reads no further, as a stalled client does. */
  stall(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Everything that arrives until the connection is closed. */
  async rest(): Promise<string> {
    while (!this.#ended) await this.#more();
    return this.#bytes.toString('latin1');
  }

  /** Waits until the text has arrived, and takes what came up to its end. */
  async until(text: string): Promise<string> {
    let at = this.#bytes.indexOf(text);
    while (at < 0) {
      if (this.#ended)
        throw new Error(`closed before ${JSON.stringify(text)} arrived: ${this.#bytes}`);
      await this.#more();
      at = this.#bytes.indexOf(text);
    }
    return this.#take(at + text.length);
  }

  /** The next whole reply. */
  async reply(method = 'GET'): Promise<RawReply> {
    const [statusLine = '', ...lines] = (await this.until('\r\n\r\n')).trimEnd().split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const length = method === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0);
    while (this.#bytes.length < length) {
      if (this.#ended) throw new Error('closed in the middle of a body');
      await this.#more();
    }
    return { status: Number(statusLine.split(' ')[1]), headers, body: this.#take(length) };
  }

  #take(length: number): string {
    const text = this.#bytes.subarray(0, length).toString();
    this.#bytes = this.#bytes.subarray(length);
    return text;
  }
}

/** A request with a length that is right. */
export function post(body: string, ...headers: string[]): string {
  return `POST /p HTTP/1.1\r\nHost: x\r\n${headers.map((line) => `${line}\r\n`).join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export function get(path = '/', ...headers: string[]): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`;
}
