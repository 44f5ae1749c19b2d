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
  .object({
    text: z.string().optional(),
    encoding: z.string().optional(),
    size: z.unknown().optional(),
  })
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

/** A member that its schema names, and those in its value; none: the whole value is kept. */
interface Member {
  readonly name: string;
  readonly own: readonly Member[];
}

function membersOf(schema: z.core.$ZodType): readonly Member[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return membersOf(schema.unwrap());
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).map(([name, own]) => ({ name, own: membersOf(own) }));
}

const entryMembers = membersOf(entrySchema);
const longestEntry = 64 * 1_048_576;
const entriesKey = /"entries"\s*:\s*\[/;
const [space, quote, comma, colon, backslash] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, open, close] = [0x5b, 0x5d, 0x7b, 0x7d];

export class HarEntries {
  readonly #name: string;
  /** What comes before the entries; undefined until they begin. */
  #before: string | undefined;
  /** The text that is not read yet. */
  #text = '';
  /** Set while that text is the beginning of an entry. */
  #end: EndSearch | undefined;
  readonly #reader = new EntryReader();
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
    let text = piece;
    let at = 0;
    if (this.#end === undefined) {
      text = this.#text + piece;
      this.#text = '';
    }
    if (this.#before === undefined) {
      const key = entriesKey.exec(text);
      at = key === null ? 0 : key.index + key[0].length;
      if (at > 0) this.#before = text.slice(0, at);
    }
    while (this.#before !== undefined) {
      if (this.#end === undefined) {
        const next = afterSpace(text, at);
        const start = text.charCodeAt(next) === comma ? afterSpace(text, next + 1) : next;
        if (text.charCodeAt(start) !== open) break;
        const entry = this.#reader.entryIn(text, start);
        if (entry !== undefined) {
          yield* this.read(entry);
          at = this.#reader.at;
          continue;
        }
        this.#end = new EndSearch();
        at = start;
      }
      const end = this.#end.in(text, at);
      if (end < 0) break;
      this.#end = undefined;
      const whole = this.#text + text.slice(at, end);
      this.#text = '';
      yield* this.read(this.#parsed(whole));
      at = end;
    }
    this.#text += text.slice(at);
    if (this.#text.length > longestEntry)
      throw new CommandError(2, `${this.#name}: an entry has more than ${longestEntry} characters`);
  }

  /** The entry in a value; none if it lacks something, which `end` reports. */
  read(value: unknown): readonly HarEntry[] {
    const place = this.#number++;
    if (isEntry(value)) return [value];
    const reading = entrySchema.safeParse(value, { reportInput: true });
    if (reading.success) return [reading.data];
    const [mistake] = mistakesOf(reading.error, ['log', 'entries', place]);
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

/** True for an entry as most are, much sooner than its schema says so. */
function isEntry(value: unknown): value is HarEntry {
  const { startedDateTime, time, request, response } = Object(value);
  return (
    typeof startedDateTime === 'string' &&
    !Number.isNaN(Date.parse(startedDateTime)) &&
    Number.isFinite(time) &&
    typeof request?.method === 'string' &&
    typeof request.url === 'string' &&
    Number.isFinite(request.bodySize) &&
    isContent(request.postData) &&
    Number.isFinite(response?.status) &&
    isContent(response.content) &&
    isText(response._error ?? undefined)
  );
}

function isContent(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  const { text, encoding } = Object(value);
  return typeof value === 'object' && !Array.isArray(value) && isText(text) && isText(encoding);
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
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
            body: textOf(response.content, response.content?.size),
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

/**
 * Reads the members that the schema names and skips the others: most of the time would go into
 * values that nothing uses. Skipped values are not checked.
 */
class EntryReader {
  #text = '';
  /** The place of the next character. */
  at = 0;
  /** The last value of each member: an entry often has the headers of the entry before. */
  readonly #last = new Map<Member, { readonly json: string; readonly value: unknown }>();

  /** Undefined if no entry begins there, or not all of it is there. */
  entryIn(text: string, start: number): unknown {
    this.#text = text;
    this.at = start;
    try {
      return this.#object(entryMembers);
    } catch {
      return undefined;
    }
  }

  #object(members: readonly Member[]): unknown {
    const found: Record<string, unknown> = {};
    this.#expect(open);
    if (this.#passes(close)) return found;
    do {
      this.#next();
      const start = this.at;
      this.at = endOfString(this.#text, start);
      const length = this.at - start - 2;
      const member = members.find(
        ({ name }) => name.length === length && this.#text.startsWith(name, start + 1),
      );
      this.#expect(colon);
      if (member === undefined) this.at = endOfValue(this.#text, this.at);
      else found[member.name] = this.#value(member);
    } while (this.#passes(comma));
    this.#expect(close);
    return found;
  }

  #value(member: Member): unknown {
    const first = this.#next();
    if (first === open && member.own.length > 0) return this.#object(member.own);
    const start = this.at;
    this.at = endOfValue(this.#text, start);
    const json = this.#text.slice(start, this.at);
    const last = this.#last.get(member);
    if (last?.json === json) return last.value;
    const value: unknown = JSON.parse(json);
    this.#last.set(member, { json, value });
    return value;
  }

  #expect(code: number): void {
    if (!this.#passes(code)) throw noEnd;
  }

  /** Moves past the character if it comes next. */
  #passes(code: number): boolean {
    const isNext = this.#next() === code;
    if (isNext) this.at++;
    return isNext;
  }

  /** The next character after spaces. */
  #next(): number {
    this.at = afterSpace(this.#text, this.at);
    return this.#text.charCodeAt(this.at);
  }
}

const noEnd = new SyntaxError('a value has no end');

/** The place after the value that begins at `start`, after spaces. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = afterSpace(text, start); at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === open || code === openList) depth++;
    else if (code === close || code === closeList) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (code === comma && depth === 0) return at;
  }
  throw noEnd;
}

/** The place after the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = text.charCodeAt(start) === quote ? text.indexOf('"', start + 1) : -1;
  while (at > 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  if (at < 0) throw noEnd;
  return at + 1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

/** Finds the end of an object whose text comes in pieces, and reads each piece once. */
class EndSearch {
  #depth = 0;
  #isString = false;
  #isEscaped = false;

  /** The place after the object in the text that goes on at `start`; -1 if it does not end there. */
  in(text: string, start: number): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === quote) this.#isString = !this.#isString;
      else if (this.#isString) this.#isEscaped = code === backslash;
      else if (code === open) this.#depth++;
      else if (code === close && --this.#depth === 0) return at + 1;
    }
    return -1;
  }
}
