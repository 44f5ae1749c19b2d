/**
 * Replies of the transport itself, for requests that reached no handler or whose handler threw.
 * The control port nests its errors; the service words them by the assumptions in force.
 * Assumes: errorBody, replyTemplates.
 */
import type { ApiReply } from '../service/messages.ts';
import type {
  ContentReply,
  ControlReply,
  ControlRequest,
  EventsReply,
  Serve,
  WordRefusal,
} from './transport.ts';

export interface TransportReplies {
  readonly tooLarge: ApiReply;
  readonly busy: ApiReply;
  readonly conflictingLength: ApiReply;
  readonly malformed: ApiReply;
  readonly headersTooLarge: ApiReply;
  readonly internalError: ApiReply;
}

/**
 * The replies as worded now: on the service port their shape is an assumption that may be switched
 * at any time.
 */
export function transportReplies(serve: Serve, limitBytes: number): () => TransportReplies {
  if ('service' in serve && serve.wordRefusal !== undefined) {
    const { wordRefusal } = serve;
    return () => repliesOf(limitBytes, wordRefusal);
  }
  const replies = repliesOf(limitBytes, 'control' in serve ? nested : flat);
  return () => replies;
}

const flat: WordRefusal = (status, code, detail) => ({
  status,
  body: JSON.stringify({ code, detail }),
});

const nested: WordRefusal = (status, code, message) => ({
  status,
  body: JSON.stringify({ error: { code, message } }),
});

function repliesOf(limitBytes: number, reply: WordRefusal): TransportReplies {
  return {
    tooLarge: reply(413, 'request_too_large', `Request body exceeds ${limitBytes} bytes.`),
    busy: reply(503, 'busy', 'Too many request bodies are arriving at once.'),
    conflictingLength: reply(400, 'bad_request', 'Conflicting Content-Length headers.'),
    malformed: reply(400, 'bad_request', 'Malformed HTTP request.'),
    headersTooLarge: reply(431, 'headers_too_large', 'Request headers are too large.'),
    internalError: reply(500, 'internal_error', 'Internal server error.'),
  };
}

/** The reply as sent, for anything that is not a stream. */
export interface WireReply {
  readonly status: number;
  readonly payload: string | Uint8Array;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

export const jsonType = 'application/json';

export function isEvents(reply: ControlReply): reply is EventsReply {
  return 'open' in reply;
}

export function isContent(reply: ControlReply): reply is ContentReply {
  return 'content' in reply;
}

export function contentOnWire(reply: ContentReply, request: ControlRequest): WireReply {
  const etag = reply.etag;
  if (etag === undefined) {
    const { status, content: payload, contentType, headers } = reply;
    return { status, payload, contentType, headers };
  }
  // `no-cache` lets a browser keep the file and makes it ask each time.
  const headers = { 'cache-control': 'no-cache', ...reply.headers, etag };
  const known = request.headers['if-none-match']?.split(',').some((one) => one.trim() === etag);
  return known === true
    ? { status: 304, payload: '', contentType: reply.contentType, headers }
    : { status: reply.status, payload: reply.content, contentType: reply.contentType, headers };
}
