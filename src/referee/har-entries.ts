/**
 * Reads the entries of a HAR 1.2 file one by one, from its text in pieces, as browsers and proxies
 * write them: Chromium may leave out credentials and bodies, Playwright writes -1 where no reply
 * came, mitmproxy encodes bodies that are not text.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { CommandError } from '../commands/command-error.ts';
import type { TrafficExchange } from '../commands/recorded-traffic.ts';
import { mistakeLine, mistakesOf } from '../config/mistakes.ts';

const contentSchema = z
  .looseObject({ text: z.string().optional(), encoding: z.string().optional() })
  .nullish();
const entrySchema = z.object({
  startedDateTime: z.string().refine((text) => !Number.isNaN(Date.parse(text)), {
    error: 'expected an ISO 8601 time',
  }),
  time: z.number().catch(0),
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers: z.unknown(),
    postData: contentSchema,
    bodySize: z.number().catch(0),
  }),
  response: z.object({
    status: z.number().catch(0),
    headers: z.unknown(),
    content: contentSchema,
    /** As Chrome writes it where the reply broke off. */
    _error: z.string().nullish(),
  }),
});
export type HarEntry = z.output<typeof entrySchema>;

const longestEntry = 64 * 1_048_576;
const entriesKey = /"entries"\s*:\s*\[/;
const [space, quote, backslash, open, close] = [0x20, 0x22, 0x5c, 0x7b, 0x7d];

export class HarEntries {
  readonly #name: string;
  /** What comes before the entries; undefined until they begin. */
  #before: string | undefined;
  #text = '';
  #number = 0;
  #unread = 0;
  #mistake = '';

  /** `name` is the file's. */
  constructor(name: string) {
    this.#name = name;
  }

  get haveBegun(): boolean {
    return this.#before !== undefined;
  }

  /** The file without the entries that were found. */
  get rest(): string {
    return `${this.#before ?? ''}${this.#text}`;
  }

  /** The entries that end in this piece. */
  *add(piece: string): Generator<HarEntry> {
    this.#text += piece;
    if (this.#before === undefined) {
      const key = entriesKey.exec(this.#text);
      const start = key === null ? 0 : key.index + key[0].length;
      if (start > 0) this.#before = this.#text.slice(0, start);
      this.#text = this.#text.slice(start);
    }
    let at = 0;
    while (this.#before !== undefined) {
      const next = afterSpace(this.#text, at);
      const start = this.#text[next] === ',' ? afterSpace(this.#text, next + 1) : next;
      const end = endOfObject(this.#text, start);
      if (end < 0) break;
      yield* this.read(this.#parsed(this.#text.slice(start, end)));
      at = end;
    }
    this.#text = this.#text.slice(at);
    if (this.#text.length > longestEntry)
      throw new CommandError(2, `${this.#name}: an entry has more than ${longestEntry} characters`);
  }

  /** The entry in a value; none if it lacks something, which `end` reports. */
  read(value: unknown): readonly HarEntry[] {
    const reading = entrySchema.safeParse(value, { reportInput: true });
    const place = ['log', 'entries', this.#number++];
    if (reading.success) return [reading.data];
    const [mistake] = mistakesOf(reading.error, place);
    if (this.#unread++ === 0 && mistake !== undefined) this.#mistake = mistakeLine(mistake);
    return [];
  }

  /** Says how many entries were skipped. */
  end(onNotice: (line: string) => void): void {
    if (this.#unread === 0) return;
    const count = this.#unread === 1 ? '1 entry' : `${this.#unread} entries`;
    onNotice(`${basename(this.#name)}: ${count} cannot be read; skipped: ${this.#mistake}`);
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new CommandError(2, `${this.#name}: entry ${this.#number + 1} is not JSON`);
    }
  }
}

/** The exchange of an entry. Its path is as sent, and its credential shows the key. */
export function exchangeOfEntry({
  startedDateTime,
  time,
  request,
  response,
}: HarEntry): TrafficExchange {
  const sentAt = Date.parse(startedDateTime);
  const { host, pathname, search } = URL.canParse(request.url) ? new URL(request.url) : unknownUrl;
  const headers = headersOf(request.headers, ['authorization', 'content-type']);
  return {
    sentAt,
    answeredAt: sentAt + Math.max(0, Math.ceil(time)),
    host,
    method: request.method,
    path: pathname,
    query: search.slice(1),
    headers,
    showsCredential: headers['authorization'] !== undefined,
    body: textOf(request.postData, request.bodySize),
    // Recorders write status 0 or less where no whole reply came.
    reply:
      response.status > 0
        ? {
            status: response.status,
            headers: headersOf(response.headers, replyHeaders),
            body: textOf(response.content, response.content?.['size']),
          }
        : undefined,
    isForced: false,
    isSeen: response.status > 0 && !response._error,
  };
}

const unknownUrl = new URL('http://unknown/');
const replyHeaders = ['content-type', 'retry-after', 'date', 'allow', 'location'];

/** Undefined if there was a body and it was not saved; its size is then positive, or -1: unknown. */
function textOf(content: z.output<typeof contentSchema>, size: unknown): string | undefined {
  const { text = '', encoding } = content ?? {};
  if (text === '' && (Number(size) > 0 || Number(size) === -1)) return undefined;
  return encoding === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text;
}

function headersOf(headers: unknown, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, value } of Array.isArray(headers) ? headers.map(Object) : []) {
    const lower = String(name).toLowerCase();
    if (names.includes(lower) && typeof value === 'string') found[lower] ??= value;
  }
  return found;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= space) at++;
  return at;
}

/** The place after the object that begins at `start`; -1 if none begins there, or it has no end. */
function endOfObject(text: string, start: number): number {
  if (text.charCodeAt(start) !== open) return -1;
  let depth = 0;
  let isString = false;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) isString = !isString;
    else if (isString) {
      if (code === backslash) at++;
    } else if (code === open) depth++;
    else if (code === close && --depth === 0) return at + 1;
  }
  return -1;
}
