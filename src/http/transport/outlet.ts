/**
 * How a transport writes the reply to one request. `answers.ts` decides what is written, and when.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { EventStream } from './event-stream.ts';

/** The content type of replies without another one. */
export const jsonType = 'application/json';

/**
 * The reason phrases of HTTP, by status. Not imported: from Node 22 on, an import of node:http also
 * loads Node's `fetch`, which takes a sixth of the start.
 */
export const { STATUS_CODES: statusTexts } = process.getBuiltinModule('node:http');

/** A reply as it is written. Every `ApiReply` is one, so that no object is made for it. */
export interface WrittenReply extends Pick<ApiReply, 'status' | 'headers'> {
  readonly body: string | Uint8Array;
  /** Default: `jsonType`. A header of this name takes precedence. */
  readonly contentType?: string;
}

/** Writes the reply to one request, each transport in its own way. */
export interface Outlet {
  readonly method: string;
  readonly path: string;
  /** True once a reply was passed in, or the client has left. Later replies are ignored. */
  readonly isAnswered: boolean;
  /** True once the reply is written, or the client has left. */
  readonly isDone: boolean;
  /** Writes a whole reply. `ends`: the connection ends after it. */
  write(reply: WrittenReply, ends: boolean): void;
  /** Announces the length of the whole body, sends half of it, and ends the connection. */
  truncate(reply: ApiReply): void;
  /** Ends the connection without a byte. */
  drop(): void;
  /** Resets the connection, or ends it if the transport cannot reset. */
  reset(): void;
  /**
   * Writes the head of a stream of events. Returns undefined if only the head is to be sent.
   * Missing if the transport serves no control port, which alone has such streams.
   */
  openStream?(ends: boolean, onEnded: (stream: EventStream) => void): EventStream | undefined;
  /**
   * Runs `act`, which writes, unless the client has left. What it writes leaves together. Needed for
   * each write that does not happen while the transport delivers the request.
   */
  corked(act: () => void): void;
  /** Calls `act` if the client leaves before its reply. */
  onLeft(act: () => void): void;
  /**
   * Takes note of a reply that is written at the end of the turn. Missing if no reply can wait.
   * Returns about how many characters the request and its reply have.
   */
  hold?(reply: ApiReply, ends: boolean): number;
}
