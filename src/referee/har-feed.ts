/**
 * Exchanges from a HAR 1.2 file, as browsers and proxies write it. Times are those of the recorder,
 * and a caller is known by its key alone.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CommandError } from '../config/command-error.ts';
import type { Exchange } from './exchange.ts';
import { endpointOf, isGarbled, objectIn, waitMs } from './traffic.ts';

const headersSchema = z.array(z.looseObject({ name: z.string(), value: z.string() }));
const entrySchema = z.looseObject({
  startedDateTime: z.string().refine((text) => !Number.isNaN(Date.parse(text)), {
    error: 'expected an ISO 8601 time',
  }),
  time: z.number().default(0),
  request: z.looseObject({
    method: z.string(),
    url: z.string(),
    headers: headersSchema,
    postData: z.looseObject({ text: z.string().default('') }).optional(),
  }),
  response: z.looseObject({
    status: z.number(),
    headers: headersSchema,
    content: z
      .looseObject({ text: z.string().default(''), encoding: z.string().optional() })
      .optional(),
  }),
});
const harSchema = z.looseObject({ log: z.looseObject({ entries: z.array(entrySchema) }) });
type HarEntry = z.output<typeof entrySchema>;

/** Throws a CommandError that names what is wrong. `name` is the file's. */
export function exchangesOfHar(text: string, name: string): Exchange[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(2, `${name}: not JSON; expected a HAR 1.2 file`);
  }
  const reading = harSchema.safeParse(value);
  if (!reading.success) {
    const [issue] = reading.error.issues;
    const path = issue?.path.join('.') ?? '';
    throw new CommandError(2, `${name}: not a HAR 1.2 file: ${path}: ${issue?.message ?? ''}`);
  }
  return reading.data.log.entries
    .map((entry) => ({ entry, atMs: Date.parse(entry.startedDateTime) }))
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ entry, atMs }, at) => exchangeOf(entry, atMs, at + 1));
}

function exchangeOf({ time, request, response }: HarEntry, atMs: number, number: number): Exchange {
  const url = new URL(request.url, 'http://unknown');
  const path = url.pathname.slice(Math.max(0, url.pathname.indexOf('/api/')));
  const target = `${path}${url.search}`;
  const text = request.postData?.text ?? '';
  const key = /^bearer[ \t]+(\S+)$/i.exec(headerOf(request.headers, 'authorization') ?? '')?.[1];
  const replyText = contentOf(response);
  const accountId = key === undefined || response.status === 401 ? undefined : keyName(key);
  return {
    number,
    atMs,
    answeredAtMs: atMs + Math.max(0, time),
    caller: key === undefined ? 'unauthenticated' : keyName(key),
    accountId,
    accountName: undefined,
    endpoint: endpointOf(path),
    method: request.method,
    target,
    text,
    body: objectIn(text),
    status: response.status,
    retryAfterMs:
      response.status === 429 ? waitMs(headerOf(response.headers, 'retry-after'), 1) : undefined,
    reply: objectIn(replyText),
    // Recorders write status 0 where no whole reply came.
    isSeen: response.status > 0 && !isGarbled(response.status, replyText),
    showsKey: key !== undefined && `${request.url}\n${text}`.includes(key),
  };
}

function contentOf({ content }: HarEntry['response']): string {
  if (content === undefined) return '';
  return content.encoding === 'base64'
    ? Buffer.from(content.text, 'base64').toString('utf8')
    : content.text;
}

function headerOf(headers: z.output<typeof headersSchema>, wanted: string): string | undefined {
  return headers.find(({ name }) => name.toLowerCase() === wanted)?.value;
}

/** Reports name the caller without showing its key. */
function keyName(key: string): string {
  return `key ${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
}
