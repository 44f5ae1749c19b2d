/**
 * Reads the JSON text of one entry of a HAR file, of which most is never used, such as timings and
 * cookies. `EntryReader` reads an entry whose text is complete, and parses only the members that
 * the schema names. `EndSearch` finds the end of an entry whose text arrives in pieces.
 */
import { z } from 'zod';
import { entrySchema } from './har-entry.ts';

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
const [space, quote, comma, colon, backslash] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The index of the entry that comes next, after spaces and a comma; -1 if none begins there. */
export function startOfEntry(text: string, from: number): number {
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
export class EntryReader {
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
export class EndSearch {
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
