/**
 * Starts the pipelined requests of a connection one after the other, each when the reply before it
 * is written. Node would start them all at once, and buffer the replies of a client that does not
 * read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection with this many waiting requests is paused. */
const mostWaiting = 64;

/** The newest request of a connection with its response, and how many requests wait. */
interface Queue {
  /** A response is `destroyed` once it is written. */
  lastResponse: ServerResponse;
  lastRequest: IncomingMessage;
  /** The number of requests that wait for an earlier reply. */
  waiting: number;
}

type Start = (incoming: IncomingMessage, response: ServerResponse) => void;

export class RequestQueues {
  readonly #queues = new WeakMap<Socket, Queue>();

  /** Calls `start` once all earlier replies of the connection are written. */
  take(incoming: IncomingMessage, response: ServerResponse, start: Start): void {
    const { socket } = incoming;
    const queue = this.#queues.get(socket);
    if (queue?.lastResponse.destroyed && !queue.lastResponse.shouldKeepAlive) return;
    if (queue === undefined || queue.lastResponse.destroyed) {
      this.#queues.set(socket, { lastResponse: response, lastRequest: incoming, waiting: 0 });
      start(incoming, response);
      return;
    }
    queue.waiting++;
    // In the next tick, because Node resumes the socket at the end of each request.
    if (queue.waiting >= mostWaiting) process.nextTick(() => pauseOrResume(socket, queue));
    const previous = queue.lastResponse;
    previous.once('close', () => {
      queue.waiting--;
      pauseOrResume(socket, queue);
      // The previous reply may have ended the connection.
      if (!previous.shouldKeepAlive) return;
      if (!response.destroyed && !socket.destroyed) start(incoming, response);
    });
    queue.lastResponse = response;
    queue.lastRequest = incoming;
  }

  /** The request of this connection whose body is still arriving. */
  arrivingOn(socket: Socket): IncomingMessage | undefined {
    const queue = this.#queues.get(socket);
    return queue === undefined || queue.lastResponse.destroyed || queue.lastRequest.complete
      ? undefined
      : queue.lastRequest;
  }

  /** Calls `act` once all replies of this connection are written. */
  afterAll(socket: Socket, act: () => void): void {
    const queue = this.#queues.get(socket);
    if (queue === undefined || queue.lastResponse.destroyed) act();
    else queue.lastResponse.once('close', act);
  }

  /** True if all replies of this connection are written. */
  isIdle(socket: Socket): boolean {
    return this.#queues.get(socket)?.lastResponse.destroyed ?? true;
  }
}

function pauseOrResume(socket: Socket, { waiting }: Queue): void {
  if (waiting >= mostWaiting) socket.pause();
  else socket.resume();
}
