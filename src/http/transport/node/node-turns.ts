/**
 * Starts the pipelined requests of a connection one after the other, each when the reply before it
 * is written. Node would start them all at once, and buffer the replies of a client that does not
 * read. A connection with many waiting requests is paused.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** With so many waiting requests, a connection is paused. */
const mostWaiting = 64;

/** The requests of one connection that have arrived. */
interface Queue {
  /** The newest request and its response. A response is `destroyed` once it is written. */
  last: ServerResponse;
  lastIncoming: IncomingMessage;
  /** How many requests wait for an earlier reply. */
  waiting: number;
}

type Start = (incoming: IncomingMessage, response: ServerResponse) => void;

export class Turns {
  readonly #queues = new WeakMap<Socket, Queue>();

  /** Calls `start` once all earlier replies of the connection are written. */
  take(incoming: IncomingMessage, response: ServerResponse, start: Start): void {
    const { socket } = incoming;
    const queue = this.#queues.get(socket);
    if (queue?.last.destroyed && !queue.last.shouldKeepAlive) return;
    if (queue === undefined || queue.last.destroyed) {
      this.#queues.set(socket, { last: response, lastIncoming: incoming, waiting: 0 });
      start(incoming, response);
      return;
    }
    queue.waiting++;
    // In the next tick, because Node resumes the socket at the end of each request.
    if (queue.waiting >= mostWaiting) process.nextTick(() => pauseOrResume(socket, queue));
    const previous = queue.last;
    previous.once('close', () => {
      queue.waiting--;
      pauseOrResume(socket, queue);
      // The previous reply may have ended the connection.
      if (!previous.shouldKeepAlive) return;
      if (!response.destroyed && !socket.destroyed) start(incoming, response);
    });
    queue.last = response;
    queue.lastIncoming = incoming;
  }

  /** The request of this connection whose body is still arriving. */
  arrivingOn(socket: Socket): IncomingMessage | undefined {
    const queue = this.#queues.get(socket);
    return queue === undefined || queue.last.destroyed || queue.lastIncoming.complete
      ? undefined
      : queue.lastIncoming;
  }

  /** Calls `act` once all replies of this connection are written. */
  afterAll(socket: Socket, act: () => void): void {
    const queue = this.#queues.get(socket);
    if (queue === undefined || queue.last.destroyed) act();
    else queue.last.once('close', act);
  }

  /** True if all replies of this connection are written. */
  isIdle(socket: Socket): boolean {
    return this.#queues.get(socket)?.last.destroyed ?? true;
  }
}

function pauseOrResume(socket: Socket, { waiting }: Queue): void {
  if (waiting >= mostWaiting) socket.pause();
  else socket.resume();
}
