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
} from './transport.ts';

const ownReplies = {
  tooLarge: [413, 'request_too_large', 'Request body exceeds {limit} bytes.'],
  busy: [503, 'busy', 'Too many request bodies are arriving at once.'],
  conflictingLength: [400, 'bad_request', 'Conflicting Content-Length headers.'],
  malformed: [400, 'bad_request', 'Malformed HTTP request.'],
  headersTooLarge: [431, 'headers_too_large', 'Request headers are too large.'],
  internalError: [500, 'internal_error', 'Internal server error.'],
} as const;
export type OwnReply = keyof typeof ownReplies;

/** As worded now: on the service port the shape is an assumption that may be switched at any time. */
export function transportReply(serve: Serve, name: OwnReply, limitBytes: number): ApiReply {
  const [status, code, text] = ownReplies[name];
  const detail = text.replace('{limit}', String(limitBytes));
  if ('control' in serve) {
    return { status, body: JSON.stringify({ error: { code, message: detail } }) };
  }
  return serve.wordRefusal?.(status, code, detail) ?? flat(status, code, detail);
}

function flat(status: number, code: string, detail: string): ApiReply {
  return { status, body: JSON.stringify({ code, detail }) };
}

export const jsonType = 'application/json';

export function isEvents(reply: ControlReply): reply is EventsReply {
  return 'open' in reply;
}

export function isContent(reply: ControlReply): reply is ContentReply {
  return 'content' in reply;
}

/** Answers `If-None-Match` with 304. */
export function contentOnWire(reply: ContentReply, request: ControlRequest): ContentReply {
  const { etag } = reply;
  if (etag === undefined) return reply;
  // `no-cache` lets a browser keep the file and makes it ask each time.
  const headers = { 'cache-control': 'no-cache', ...reply.headers, etag };
  const known = request.headers['if-none-match']?.split(',').some((one) => one.trim() === etag);
  return { ...reply, ...(known === true && { status: 304, content: '' }), headers };
}
