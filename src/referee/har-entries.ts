/**
 * Reads the entries of a HAR 1.2 file one by one while its text arrives in pieces, because a file
 * may be larger than memory. Accepts what browsers and proxies write: Chromium may leave out
 * credentials and bodies, Playwright writes -1 if no reply came, and mitmproxy encodes bodies that
 * are not text.
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
    /** Chrome's own field: set if the reply broke off. */
    _error: z.string().nullish(),
  }),
});
export type HarEntry = z.output<typeof entrySchema>;

/** A member of an entry that the schema names. */
interface Member {
  readonly name: string;
  /** The members of its value that the schema names; empty if the whole value is read. */
  readonly members: readonly Member[];
}

function membersOf(schema: z.core.$ZodType): readonly Member[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return membersOf(schema.unwrap());
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).map(([name, value]) => ({ name, members: membersOf(value) }));
}

const entryMembers = membersOf(entrySchema);
/** Characters; a longer entry is a mistake, because it must fit in memory. */
const longestEntry = 64 * 1_048_576;
const entriesKey = /"entries"\s*:\s*\[/;
const [space, quote, comma, colon, backslash] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The entries of one file, in order. Counts those that cannot be read. */
export class HarEntries {
  readonly #name: string;
  /** The text before the entries; undefined until they begin. */
  #before: string | undefined;
  /** The text that is not read yet. */
  #text = '';
  /** Set while `#text` is the beginning of an entry whose end has not arrived. */
  #end: EndSearch | undefined;
  readonly #reader = new EntryReader();
  /** How many entries were read or skipped. */
  #number = 0;
  #skipped = 0;
  /** What is wrong with the first skipped entry. */
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
      if (this.#before === undefined) at = this.#findEntries(text);
    }
    while (this.#before !== undefined) {
      if (this.#end === undefined) {
        const start = startOfEntry(text, at);
        if (start < 0) break;
        const entry = this.#reader.entryIn(text, start);
        if (entry !== undefined) {
          yield* this.read(entry);
          at = this.#reader.at;
          continue;
        }
        this.#end = new EndSearch();
        at = start;
      }
      const end = this.#end.findEnd(text, at);
      if (end < 0) break;
      this.#end = undefined;
      const entryText = this.#text + text.slice(at, end);
      this.#text = '';
      yield* this.read(this.#parsed(entryText));
      at = end;
    }
    this.#text += text.slice(at);
    if (this.#text.length > longestEntry)
      throw new CommandError(2, `${this.#name}: an entry has more than ${longestEntry} characters`);
  }

  /** Keeps the text before the entries, and returns the index after it; 0 if they do not begin. */
  #findEntries(text: string): number {
    const key = entriesKey.exec(text);
    if (key === null) return 0;
    const end = key.index + key[0].length;
    this.#before = text.slice(0, end);
    return end;
  }

  /** The entry that a JSON value holds; none if something is wrong with it, which `end` reports. */
  read(value: unknown): readonly HarEntry[] {
    const index = this.#number++;
    if (isEntry(value)) return [value];
    const reading = entrySchema.safeParse(value, { reportInput: true });
    if (reading.success) return [reading.data];
    const [mistake] = mistakesOf(reading.error, [], ['log', 'entries', index]);
    if (this.#skipped++ === 0 && mistake !== undefined) this.#mistake = mistakeLine(mistake);
    return [];
  }

  /** Says how many entries were skipped. */
  end(onNotice: (line: string) => void): void {
    if (this.#skipped === 0) return;
    const count = this.#skipped === 1 ? '1 entry' : `${this.#skipped} entries`;
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

/** True for an entry in the usual form. Much faster than the schema, which decides the others. */
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

/** Undefined if a body was not saved: it has no text, but a positive size or -1 (unknown). */
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

/** The index of the entry that comes next, after spaces and a comma; -1 if none begins there. */
function startOfEntry(text: string, from: number): number {
  const next = afterSpace(text, from);
  const start = text.charCodeAt(next) === comma ? afterSpace(text, next + 1) : next;
  return text.charCodeAt(start) === openObject ? start : -1;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= space) at++;
  return at;
}

/**
 * Reads the members that the schema names and skips the others without a check: parsing values that
 * nothing uses would take most of the time.
 */
class EntryReader {
  #text = '';
  /** The index of the next character. */
  at = 0;
  /** The last value of each member: an entry often has the same headers as the entry before. */
  readonly #last = new Map<Member, { readonly json: string; readonly value: unknown }>();

  /** Reads the entry that begins at `start`; undefined if the text has no whole entry there. */
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
    this.#expect(openObject);
    if (this.#passes(closeObject)) return found;
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
    this.#expect(closeObject);
    return found;
  }

  #value(member: Member): unknown {
    const first = this.#next();
    if (first === openObject && member.members.length > 0) return this.#object(member.members);
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

/** The index after the value that begins at `start`, or at the next character that is no space. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = afterSpace(text, start); at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === openObject || code === openList) depth++;
    else if (code === closeObject || code === closeList) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (code === comma && depth === 0) return at;
  }
  throw noEnd;
}

/** The index after the string that begins at `start`. */
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

  /** The index after the object that goes on at `start`; -1 if this text does not hold its end. */
  findEnd(text: string, start: number): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === quote) this.#isString = !this.#isString;
      else if (this.#isString) this.#isEscaped = code === backslash;
      else if (code === openObject) this.#depth++;
      else if (code === closeObject && --this.#depth === 0) return at + 1;
    }
    return -1;
  }
}
