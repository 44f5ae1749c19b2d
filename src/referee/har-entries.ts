/**
 * Reads from the entries of a HAR file what the referee needs, as the JSON text of each value, and skips
 * the rest: most of a large file's time would go into values that nothing reads. Skipped values are not
 * checked.
 */

/** Where in an entry each value is that the referee needs. */
const places = {
  startedDateTime: 'startedDateTime',
  time: 'time',
  method: 'request.method',
  url: 'request.url',
  requestHeaders: 'request.headers',
  sentSize: 'request.bodySize',
  sent: 'request.postData.text',
  sentEncoding: 'request.postData.encoding',
  status: 'response.status',
  responseHeaders: 'response.headers',
  /** As Chrome writes it where the reply broke off. */
  error: 'response._error',
  received: 'response.content.text',
  receivedSize: 'response.content.size',
  receivedEncoding: 'response.content.encoding',
} as const;

type Name = keyof typeof places;

/** Texts of JSON values; undefined for those that the entry lacks. */
export type EntryTexts = { -readonly [N in Name]?: string | undefined };

/** The members of an object: a value's name in `EntryTexts`, or the members of an object in it. */
type Members = readonly { readonly name: string; readonly as: Name | Members }[];

function membersAt(start: string): Members {
  const under = (Object.entries(places) as [Name, string][]).filter(([, place]) =>
    place.startsWith(start),
  );
  const names = new Set(under.map(([, place]) => place.slice(start.length).replace(/\..*/, '')));
  return [...names].map((name) => {
    const value = under.find(([, place]) => place === start + name)?.[0];
    return { name, as: value ?? membersAt(`${start}${name}.`) };
  });
}

const members = membersAt('');

export const entriesKey = /"entries"\s*:\s*\[/g;
const [space, quote, comma, colon, backslash] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Calls `each` for every entry, until it returns false. False if the file was not read to its end. */
export function readEntries(text: string, each: (entry: EntryTexts) => boolean): boolean {
  entriesKey.lastIndex = 0;
  if (!entriesKey.test(text)) return false;
  const start = entriesKey.lastIndex;
  const reader = new Reader(text, start);
  do {
    const entry: EntryTexts = {};
    if (!reader.object(members, entry) || !each(entry)) return false;
  } while (reader.passes(comma));
  return isRest(text.slice(0, start) + text.slice(reader.at));
}

/** True for a HAR file whose entries were taken out. */
function isRest(text: string): boolean {
  try {
    const { log } = JSON.parse(text);
    return Array.isArray(log.entries) && log.entries.length === 0;
  } catch {
    return false;
  }
}

class Reader {
  readonly #text: string;
  /** The place of the next character. */
  at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  /** Moves past the character if it comes next, after spaces. */
  passes(code: number): boolean {
    const isNext = this.#next() === code;
    if (isNext) this.at++;
    return isNext;
  }

  /** Moves past an object, and keeps the texts of its members; false if there is no object. */
  object(wanted: Members, entry: EntryTexts): boolean {
    if (!this.passes(openObject)) return false;
    if (this.passes(closeObject)) return true;
    do {
      if (this.#next() !== quote) return false;
      const nameAt = this.at + 1;
      this.at = endOfString(this.#text, nameAt);
      if (this.at < 0) return false;
      const length = this.at - 1 - nameAt;
      if (!this.passes(colon)) return false;
      let as: Name | Members | undefined;
      for (const member of wanted) {
        const { name } = member;
        if (name.length === length && this.#text.startsWith(name, nameAt)) as = member.as;
      }
      if (!this.#value(as, entry)) return false;
    } while (this.passes(comma));
    return this.passes(closeObject);
  }

  #value(as: Name | Members | undefined, entry: EntryTexts): boolean {
    const first = this.#next();
    const start = this.at;
    if (typeof as === 'object' && first === openObject) return this.object(as, entry);
    this.at = endOfValue(this.#text, start);
    if (this.at < 0) return false;
    if (as === undefined) return true;
    const text = this.#text.slice(start, this.at);
    if (typeof as === 'object') return text.trimEnd() === 'null';
    entry[as] = text;
    return true;
  }

  /** The next character that is not a space. */
  #next(): number {
    this.at = afterSpace(this.#text, this.at);
    return this.#text.charCodeAt(this.at);
  }
}

export function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= space) at++;
  return at;
}

/** The place after the value that begins at `start`; -1 if it has no end. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start + 1);
  const isNested = first === openObject || first === openArray;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at + 1) - 1;
      if (at < 0) return -1;
    } else if (code === openObject || code === openArray) depth++;
    else if (code === closeObject || code === closeArray) {
      if (--depth <= 0) return isNested ? at + 1 : at;
    } else if (code === comma && depth === 0) return at;
  }
  return -1;
}

/** The place after the string whose first character is at `start`; -1 if it has no end. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === backslash) at++;
  }
  return -1;
}
