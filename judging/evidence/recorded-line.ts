/**
 * One line of a recording: an exchange as it went through the proxy. If a fault struck it, the line
 * names the fault. If that fault let the request through, the reply is the one that the service
 * sent.
 */
import { z } from 'zod';
import { faultKindNames } from '#contract/fault-kinds.ts';
import { timeIn } from './reading.ts';

const text = z.string().exactOptional();
const time = z.iso.datetime();
/** Bodies are decoded text; a body that is not text, or too long, is left out. */
const bodySchema = z.strictObject({
  headers: z.record(z.string(), z.string()),
  body: text,
  omitted: z.int().exactOptional().describe('The bytes of a body that was left out.'),
});
export type RecordedBody = z.output<typeof bodySchema>;

export const recordedLineSchema = z.strictObject({
  sent: time.describe('When the head of the request had arrived.'),
  answered: time.describe('When the last byte of the reply had left.'),
  steady: z
    .strictObject({ process: z.string(), sent_ms: z.number(), answered_ms: z.number() })
    .exactOptional()
    .describe('The same by a clock that runs steadily in one process.'),
  connection: text.describe('Of the client: a number within the process.'),
  client: z.string().describe('The digest of its address.'),
  fault: z.enum(faultKindNames).exactOptional().describe('The kind of the fault that struck it.'),
  request: bodySchema.extend({ method: z.string(), path: z.string() }),
  reply: bodySchema.extend({ status: z.int() }).exactOptional(),
  failure: text.describe('Why there is no whole reply, or why the client did not see it.'),
});
export type RecordedLine = z.output<typeof recordedLineSchema>;

/** The beginning of every line of a recording. */
export const lineOpening = /\{\s*"sent"\s*:\s*"/;

/**
 * Parses a line; undefined for any other text, such as a line that was cut off. Checks only what
 * readers need: the strict schema would refuse a line of a later version.
 */
export function readLine(text: string): RecordedLine | undefined {
  if (text.search(lineOpening) !== 0) return undefined;
  try {
    const line = JSON.parse(text) as RecordedLine;
    const isLine =
      isTime(line.sent) &&
      (line.steady === undefined ? isTime(line.answered) : isSteady(line.steady)) &&
      typeof line.client === 'string' &&
      isMessage(line.request) &&
      typeof line.request.method === 'string' &&
      typeof line.request.path === 'string' &&
      (line.reply === undefined ||
        (isMessage(line.reply) && typeof line.reply.status === 'number'));
    return isLine ? line : undefined;
  } catch {
    return undefined;
  }
}

function isSteady(value: unknown): boolean {
  const { process, sent_ms: sent, answered_ms: answered } = Object(value);
  return typeof process === 'string' && Number.isFinite(sent) && Number.isFinite(answered);
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(timeIn(value));
}

function isMessage(value: unknown): boolean {
  const { headers, body = '' } = Object(value);
  if (typeof headers !== 'object' || headers === null || typeof body !== 'string') return false;
  return Object.values(headers).every((each) => typeof each === 'string');
}
