/**
 * The entries of a journal, one in each line: a request with its reply, an operation with the
 * digest of its result, or the end of a delayed reply. A request names the key that it
 * authenticated with by id; any other credential is replaced by its digest. A key elsewhere in a
 * request stays as sent.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { cutNames, faultKindNames } from '#contract/fault-kinds.ts';
import { type ApiReply, isObject } from '#contract/request-and-reply.ts';
import { timeIn } from './reading.ts';

const text = z.string().exactOptional();
const time = z.iso.datetime();
const headers = z.record(z.string(), z.string()).exactOptional();
const delivery = z.strictObject({
  delayMs: z.number().exactOptional(),
  cut: z.enum(cutNames).exactOptional(),
});

const journalRequestSchema = z.strictObject({
  method: z.string(),
  path: z.string(),
  query: text,
  key_id: text.describe('The key that authenticated it.'),
  credential: text.describe('The digest of any other Authorization header.'),
  client_ip: text,
  forwarded_for: text,
  content_type: text,
  content_encoding: text,
  headers: headers.describe('`traceparent`, and those that faults looked at.'),
  body: text,
  body_base64: text.describe('The body, if it is not UTF-8.'),
});
export type JournalRequest = z.output<typeof journalRequestSchema>;

const journalReplySchema = z.strictObject({
  status: z.int(),
  headers,
  delivery: delivery.exactOptional(),
  body: z.string(),
});
export type JournalReply = z.output<typeof journalReplySchema>;

export const requestEntrySchema = z.strictObject({
  at: time.describe('Simulated time.'),
  request: journalRequestSchema,
  fault_id: text,
  fault: z.enum(faultKindNames).exactOptional().describe('The kind of the fault that struck it.'),
  repeats: z.int().exactOptional().describe('The number of the request that a replay repeats.'),
  reply: journalReplySchema,
});
export type RequestEntry = z.output<typeof requestEntrySchema>;

export const operationEntrySchema = z.strictObject({
  at: time,
  operation: z.string(),
  args: z.array(z.unknown()).readonly(),
  result: z.string().describe('The digest of the result, or the code of the refusal.'),
});
export type OperationEntry = z.output<typeof operationEntrySchema>;

/** The end of a reply that was delayed or cut. Not an input of the run. */
export const endedEntrySchema = z.strictObject({
  at: time,
  ended: z.int().min(1).describe('Counted backwards: 1 is the last request before this line.'),
  seen: z.literal(false).exactOptional().describe('The client closed the connection first.'),
});
export type EndedEntry = z.output<typeof endedEntrySchema>;

export type Entry = RequestEntry | OperationEntry | EndedEntry;

/**
 * The entry in a parsed line; undefined if a field that a replay needs is missing. The values of
 * fields are checked where they are used.
 */
export function entryIn(line: unknown): Entry | undefined {
  if (!isObject(line)) return undefined;
  if (line['lever'] === undefined) return isEntry(line) ? line : undefined;
  // The first format called an operation a lever.
  const { lever: operation, ...others } = line;
  const entry = { ...others, operation };
  return isEntry(entry) ? entry : undefined;
}

function isEntry(line: Readonly<Record<string, unknown>>): line is Entry & typeof line {
  const { at, request, reply, operation, args, result, ended } = line;
  if (typeof at !== 'string' || Number.isNaN(timeIn(at))) return false;
  if ('request' in line) return isJournalRequest(request) && isObject(reply);
  if ('ended' in line) return Number.isInteger(ended);
  return typeof operation === 'string' && Array.isArray(args) && typeof result === 'string';
}

/** Every field but `headers` is text; method and path are required. */
function isJournalRequest(request: unknown): boolean {
  if (!isObject(request)) return false;
  for (const field in request) {
    const isRight =
      field === 'headers' ? isObject(request[field]) : typeof request[field] === 'string';
    if (!isRight) return false;
  }
  return request['method'] !== undefined && request['path'] !== undefined;
}

/** What a journal holds of a reply. */
export function journalReply(reply: ApiReply | JournalReply): JournalReply {
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
  return `sha256:${hash('sha256', JSON.stringify(result) ?? '')}`;
}
