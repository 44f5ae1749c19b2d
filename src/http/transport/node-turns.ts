/**
 * Serves the pipelined requests of one connection in order. Node would start them all at once and
 * buffer the replies of a client that does not read. Here a request starts when the reply before it
 * is out, and a connection with many waiting requests is paused.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const mostWaiting = 64;

interface Line {
  last: ServerResponse;
  lastIncoming: IncomingMessage;
  /** How many requests wait for an earlier reply. */
  waiting: number;
}

type Start = (incoming: IncomingMessage, response: ServerResponse) => void;

export class Turns {
  readonly #lines = new WeakMap<Socket, Line>();

  /** Calls `start` when the replies before this one are out. */
  take(incoming: IncomingMessage, response: ServerResponse, start: Start): void {
    const { socket } = incoming;
    const line = this.#lines.get(socket);
    if (line?.last.destroyed && !line.last.shouldKeepAlive) return;
    if (line === undefined || line.last.destroyed) {
      this.#lines.set(socket, { last: response, lastIncoming: incoming, waiting: 0 });
      start(incoming, response);
      return;
    }
    line.waiting++;
    // In the next tick: Node resumes the socket at the end of each request.
    if (line.waiting >= mostWaiting) process.nextTick(() => pauseOrResume(socket, line));
    const before = line.last;
    before.once('close', () => {
      line.waiting--;
      pauseOrResume(socket, line);
      // Nothing is served behind the reply that ends the connection.
      if (!before.shouldKeepAlive) return;
      if (!response.destroyed && !socket.destroyed) start(incoming, response);
    });
    line.last = response;
    line.lastIncoming = incoming;
  }

  /** The request of this connection that has not arrived whole. */
  arrivingOn(socket: Socket): IncomingMessage | undefined {
    const line = this.#lines.get(socket);
    return line === undefined || line.last.destroyed || line.lastIncoming.complete
      ? undefined
      : line.lastIncoming;
  }

  /** Calls `act` when every reply of this connection is out. */
  afterAll(socket: Socket, act: () => void): void {
    const line = this.#lines.get(socket);
    if (line === undefined || line.last.destroyed) act();
    else line.last.once('close', act);
  }

  /** True if every request of this connection has its whole reply. */
  isIdle(socket: Socket): boolean {
    return this.#lines.get(socket)?.last.destroyed ?? true;
  }
}

function pauseOrResume(socket: Socket, { waiting }: Line): void {
  if (waiting >= mostWaiting) socket.pause();
  else socket.resume();
}
