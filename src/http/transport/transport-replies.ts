/**
 * The replies that a transport gives by itself, to requests that reach no handler or whose handler
 * throws; and the parts of a reply that all transports write alike. The control port nests its
 * errors; the service words them by the assumptions in force.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { ContentReply, ControlRequest, Serve } from './transport.ts';

/** Status, code and text of each reply. */
const ownReplies = {
  tooLarge: [413, 'request_too_large', 'Request body exceeds {limit} bytes.'],
  busy: [503, 'busy', 'Too many request bodies are arriving at once.'],
  conflictingLength: [400, 'bad_request', 'Conflicting Content-Length headers.'],
  malformed: [400, 'bad_request', 'Malformed HTTP request.'],
  headersTooLarge: [431, 'headers_too_large', 'Request headers are too large.'],
  internalError: [500, 'internal_error', 'Internal server error.'],
} as const;
export type OwnReply = keyof typeof ownReplies;

/** Not cached: its shape depends on assumptions of the service, which may change. */
export function transportReply(serve: Serve, name: OwnReply, limitBytes: number): ApiReply {
  const [status, code, text] = ownReplies[name];
  const detail = text.replace('{limit}', String(limitBytes));
  if ('control' in serve) {
    return { status, body: JSON.stringify({ error: { code, message: detail } }) };
  }
  const worded = serve.wordRefusal?.(status, code, detail);
  return worded ?? { status, body: JSON.stringify({ code, detail }) };
}

export const jsonType = 'application/json';

/** The reply to send: a 304 if `If-None-Match` names its `etag`. */
export function contentOnWire(reply: ContentReply, request: ControlRequest): ContentReply {
  const { etag } = reply;
  if (etag === undefined) return reply;
  // `no-cache` lets a browser keep the file and makes it ask each time.
  const headers = { 'cache-control': 'no-cache', ...reply.headers, etag };
  const knownTags = request.headers['if-none-match']?.split(',') ?? [];
  const isKnown = knownTags.some((tag) => tag.trim() === etag);
  return { ...reply, ...(isKnown && { status: 304, content: '' }), headers };
}

/**
 * The reason phrases of HTTP, by status. Not imported: from Node 22 on, an import of node:http also
 * loads Node's `fetch`, which takes a sixth of the start.
 */
export const { STATUS_CODES: statusTexts } = process.getBuiltinModule('node:http');
