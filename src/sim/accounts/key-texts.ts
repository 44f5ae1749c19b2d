/**
 * Finds API keys in a text: in a request, where the referee judges a key outside its header
 * (CLIENT-16), and in whatever leaves the process (AUTH-2), where a stand-in hides it. The referee,
 * the control port and copies of journals use it; the service answers its requests without it.
 */
import { keyLength } from '../random.ts';
import { hashText } from '../store/text-slab.ts';
import type { ApiKey, KeyDigest } from './account.ts';

/** The shortest key that is searched for: any word could be a shorter one. */
const shortestSoughtKey = 12;
/** The longest key that a user can choose. */
const longestKey = 200;
/** The shortest useful prefix: with a shorter one, too many texts look like a generated key. */
const shortestPrefix = 3;
/** The characters that a bearer token may have. */
const keyCharacters = /^[A-Za-z0-9_.~+/=-]*/;
/** Begins the stand-in of a hidden key; a key that a user chose may begin so, too. */
const standInMark = 'hidKey';
const standIn = `${standInMark}[0-9a-f]{6,}`;
const wholeStandIn = new RegExp(`^${standIn}$`);
const noKeys: readonly string[] = [];

export class KeyTexts {
  /**
   * Matches all that looks like a generated key and has the prefix of one, so it also finds keys of
   * other worlds and removed keys. Also matches stand-ins.
   */
  readonly #generated: RegExp;
  /** Keys that are searched for as they are: chosen ones, or generated ones with a short prefix. */
  readonly #literalKeys: readonly string[];
  /** Each key contains one of these. Most texts contain none, so they are not searched further. */
  readonly #marks: readonly string[];
  /** The digests of keys whose text is not known, by their prefix. */
  readonly #digests = new Map<string, Set<string>>();
  readonly #digestOf: (text: string) => string;

  constructor(keys: Iterable<ApiKey>, digestOf: (text: string) => string) {
    const prefixes = new Set<string>();
    const literalKeys: string[] = [];
    for (const { key: text, digest, drawnFrom } of keys) {
      const isDrawn = drawnFrom !== undefined;
      const drawnPrefix = isDrawn ? text.slice(0, -keyLength) : '';
      if (digest !== undefined) this.#noteDigest(digest);
      else if (drawnPrefix.length >= shortestPrefix) prefixes.add(drawnPrefix);
      else if (text.length >= shortestSoughtKey) literalKeys.push(text);
    }
    const generated = [...prefixes].map((prefix) => `${escaped(prefix)}[A-Za-z0-9]{${keyLength}}`);
    this.#generated = new RegExp([...generated, standIn].join('|'), 'g');
    this.#literalKeys = literalKeys;
    this.#marks = [...prefixes, standInMark, ...literalKeys, ...this.#digests.keys()];
    this.#digestOf = digestOf;
  }

  /** The keys in a text, and the stand-ins of keys that were hidden in it. */
  findIn(text: string): readonly string[] {
    if (!this.#marks.some((mark) => text.includes(mark))) return noKeys;
    const found = new Set<string>();
    for (const key of this.#literalKeys) if (text.includes(key)) found.add(key);
    for (const [key] of text.matchAll(this.#generated)) found.add(key);
    for (const [prefix, digests] of this.#digests) {
      for (let at = text.indexOf(prefix); at >= 0; at = text.indexOf(prefix, at + 1)) {
        const key = this.#keyAt(text, at, digests);
        if (key !== undefined) found.add(key);
      }
    }
    return [...found];
  }

  /**
   * The text with each key replaced by a stand-in of the same length and characters, always the
   * same for the same key: a journal without keys replays to the same replies.
   */
  hidden(text: string): string {
    // A shorter key that begins a longer one would leave the end of the longer one visible.
    const longestFirst = this.findIn(text).toSorted((a, b) => b.length - a.length);
    return longestFirst.reduce(
      (partlyHidden, key) => partlyHidden.replaceAll(key, standInOf(key)),
      text,
    );
  }

  #noteDigest({ prefix, sha256 }: KeyDigest): void {
    const digests = this.#digests.get(prefix);
    if (digests === undefined) this.#digests.set(prefix, new Set([sha256]));
    else digests.add(sha256);
  }

  /** The longest key with one of these digests at `at`. Its length is not known: tries each one. */
  #keyAt(text: string, at: number, digests: ReadonlySet<string>): string | undefined {
    const run = keyCharacters.exec(text.slice(at, at + longestKey))?.[0] ?? '';
    for (let length = run.length; length >= shortestSoughtKey; length--) {
      const part = run.slice(0, length);
      if (digests.has(this.#digestOf(part))) return part;
    }
    return undefined;
  }
}

/** As a pattern; keys have no other characters that mean something in one (`bearerToken`). */
function escaped(text: string): string {
  return text.replace(/[.+/-]/g, '\\$&');
}

function standInOf(key: string): string {
  if (wholeStandIn.test(key)) return key;
  // Two hashes: 64 bits, so that two keys hardly share a stand-in.
  const digits = [0, 1].map((seed) => (hashText(key, seed) >>> 0).toString(16).padStart(8, '0'));
  const room = key.length - standInMark.length;
  const hash = digits.join('');
  return standInMark + hash.repeat(Math.ceil(room / hash.length)).slice(0, room);
}
