/**
 * How a transport writes the reply to one request. `answers.ts` decides what is written, and when.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { EventStream } from './event-stream.ts';

/** Writes the reply to one request, each transport in its own way. */
export interface Outlet {
  readonly method: string;
  readonly path: string;
  /** True once it was given a reply, or the client has left. Further replies are ignored. */
  readonly isAnswered: boolean;
  /** True once the reply is written, or the client has left. */
  readonly isDone: boolean;
  /** Writes a whole reply. `ends`: the connection ends after it. */
  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void;
  /** Announces the length of the whole body, sends half of it, and ends the connection. */
  truncate(reply: ApiReply): void;
  /** Ends the connection without a byte. */
  drop(): void;
  /** Resets the connection, or ends it if the transport cannot reset. */
  reset(): void;
  /** Writes the head of a stream of events. Undefined if only the head is to be sent. */
  openStream(ends: boolean, onEnded: (stream: EventStream) => void): EventStream | undefined;
  /**
   * Runs `act`, which writes, unless the client has left. Needed for each write that does not
   * happen while the transport delivers the request.
   */
  later(act: () => void): void;
  /** Calls `act` if the client leaves before its reply. */
  onLeft(act: () => void): void;
  /**
   * Takes note of a reply that is written at the end of the turn. Missing if no reply can wait.
   * Returns about how many characters the request and its reply have.
   */
  hold?(reply: ApiReply, ends: boolean): number;
}
