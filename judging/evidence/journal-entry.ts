/**
 * The entries of a journal, one in each line: a request with its reply, an operation with the
 * digest of its result, or the end of a delayed reply. A request names the key that it
 * authenticated with by id; any other credential is replaced by its digest. A key elsewhere in a
 * request stays as sent.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import { sha256 } from '#io/digest.ts';

export interface RequestEntry {
  /** The simulated time, in ISO 8601. */
  readonly at: string;
  readonly request: RecordedRequest;
  readonly reply: RecordedReply;
}

export interface OperationEntry {
  readonly at: string;
  /** The operation's name in journals. */
  readonly operation: string;
  readonly args: readonly unknown[];
  /** The digest of the result, or the code of the refusal. */
  readonly result: string;
}

/** The end of a reply that was delayed or cut. Not an input of the run. */
export interface EndedEntry {
  readonly at: string;
  /** Which request this refers to, counted backwards: 1 is the last request before this line. */
  readonly ended: number;
  /** Present if the client closed the connection before the reply was sent. */
  readonly seen?: false;
}

export type Entry = RequestEntry | OperationEntry | EndedEntry;

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  /** The key that authenticated it. */
  readonly key_id?: string;
  /** The digest of any other `Authorization` header. */
  readonly credential?: string;
  readonly client_ip?: string;
  readonly forwarded_for?: string;
  readonly content_type?: string;
  readonly content_encoding?: string;
  readonly traceparent?: string;
  readonly body?: string;
  /** The body in base64, if it is not UTF-8. */
  readonly body_base64?: string;
}

export interface RecordedReply {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delivery?: ApiReply['delivery'];
}

/**
 * The entry in a parsed line; undefined if a field that a replay needs is missing. The values of
 * fields are checked where they are used.
 */
export function entryIn(line: unknown): Entry | undefined {
  if (!isObject(line)) return undefined;
  // The first format called an operation a lever.
  const { lever, ...others } = line;
  const entry = lever === undefined ? line : { ...others, operation: lever };
  return isEntry(entry) ? entry : undefined;
}

function isEntry(line: Readonly<Record<string, unknown>>): line is Entry & typeof line {
  const { at, request, reply, operation, args, result, ended } = line;
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) return false;
  if ('request' in line) return isRecordedRequest(request) && isObject(reply);
  if ('ended' in line) return Number.isInteger(ended);
  return typeof operation === 'string' && Array.isArray(args) && typeof result === 'string';
}

/** Every field is text; method and path are required. */
function isRecordedRequest(request: unknown): boolean {
  if (!isObject(request)) return false;
  for (const field in request) if (typeof request[field] !== 'string') return false;
  return request['method'] !== undefined && request['path'] !== undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a journal holds of a reply. */
export function recordedReply(reply: ApiReply | RecordedReply): RecordedReply {
  const { status, body, headers, delivery } = reply;
  return {
    status,
    body,
    ...(headers !== undefined && { headers }),
    ...(delivery !== undefined && { delivery }),
  };
}

/** The digest of an operation's result. */
export function resultDigest(result: unknown): string {
  return `sha256:${sha256(JSON.stringify(result) ?? '')}`;
}
