/**
 * Finds the API key that a caller sends, and all keys that a text contains, to hide them.
 * Rules: AUTH-2, AUTH-3, CLIENT-16. A key is known by its full text. If it came from a snapshot or
 * journal, it is known only by its digest: those never hold a full key, but callers still use it.
 */
import { assert } from '../errors.ts';
import { keyLength } from '../random.ts';
import { hashText } from '../store/text-slab.ts';
import type { ApiKey, KeyDigest } from './account.ts';

type DigestOf = (text: string) => string;

/** Is notified of the headers and digests that belong to keys of a ring. */
export interface KeyWatcher {
  added(headerOrDigest: string): void;
  removed(headerOrDigest: string): void;
}

/** The `Authorization` header of a key, in its usual spelling. */
const headerOf = (text: string): string => `Bearer ${text}`;

export class KeyRing {
  /** Keys by their whole header, so that a request need not extract the text. */
  readonly #byHeader = new Map<string, ApiKey>();
  readonly #byDigest = new Map<string, ApiKey>();
  /** Created by the getter `texts`; undefined after a change of the keys. */
  #texts: KeyTexts | undefined;
  #digestOf: DigestOf | undefined;
  #watcher: KeyWatcher | undefined;

  /**
   * The key for an Authorization header in its usual spelling. `find` handles other spellings and
   * digests.
   */
  findHeader(header: string): ApiKey | undefined {
    return this.#byHeader.get(header);
  }

  find(text: string): ApiKey | undefined {
    const key = this.findHeader(headerOf(text));
    if (key !== undefined || this.#digestOf === undefined) return key;
    return this.#byDigest.size === 0 ? undefined : this.#byDigest.get(this.#digestOf(text));
  }

  has(text: string): boolean {
    return this.#byHeader.has(headerOf(text));
  }

  /** Finds these keys in a text. */
  get texts(): KeyTexts {
    this.#texts ??= new KeyTexts(
      [...this.#byHeader.values(), ...this.#byDigest.values()],
      (text) => this.#digestOf?.(text) ?? '',
    );
    return this.#texts;
  }

  /** True if the ring finds this very key by its text or digest. */
  holds(key: ApiKey): boolean {
    return key.digest === undefined
      ? this.findHeader(headerOf(key.key)) === key
      : this.#byDigest.get(key.digest.sha256) === key;
  }

  /** Texts and digests that belong to a key. */
  get size(): number {
    return this.#byHeader.size + this.#byDigest.size;
  }

  add(key: ApiKey): void {
    if (key.digest === undefined) this.#byHeader.set(headerOf(key.key), key);
    else this.#byDigest.set(key.digest.sha256, key);
    this.#texts = undefined;
    this.#watcher?.added(knownBy(key));
  }

  delete(key: ApiKey): void {
    if (key.digest === undefined) this.#byHeader.delete(headerOf(key.key));
    else this.#byDigest.delete(key.digest.sha256);
    this.#texts = undefined;
    this.#watcher?.removed(knownBy(key));
  }

  /** Notifies `watcher` of all present keys, and of each key that is added or removed later. */
  watch(watcher: KeyWatcher): void {
    this.#watcher = watcher;
    for (const header of [...this.#byHeader.keys(), ...this.#byDigest.keys()])
      watcher.added(header);
  }

  /** Sets the digest function; needed once a key is known by its digest. */
  digestWith(digestOf: DigestOf): void {
    this.#digestOf = digestOf;
  }

  /** Drops the full text of a key; from then on it is known by its digest. */
  forgetText(key: ApiKey, digest: KeyDigest): void {
    this.delete(key);
    key.key = '';
    key.digest = digest;
    this.add(key);
  }

  /** Accepts another text for a key until it is dropped: for replaying a recorded run. */
  alias(alias: string, key: ApiKey): void {
    assert(!this.has(alias), 'an alias is not a key');
    this.#byHeader.set(headerOf(alias), key);
  }

  dropAlias(alias: string): void {
    this.#byHeader.delete(headerOf(alias));
  }
}

function knownBy(key: ApiKey): string {
  return key.digest === undefined ? headerOf(key.key) : key.digest.sha256;
}

/** The most characters of a key that may be shown after its creation (AUTH-2). */
const shownKeyCharacters = 9;

export function keyPrefix({ key: text, digest }: ApiKey): string {
  return digest === undefined ? shownPrefix(text) : digest.prefix;
}

/** The start of a key that may be shown: never more than half of it. */
export function shownPrefix(text: string): string {
  return text.slice(0, Math.min(shownKeyCharacters, Math.floor(text.length / 2)));
}

/** The shortest key that is searched for: any word could be a shorter one. */
const shortestSoughtKey = 12;
const longestKey = 200;
/** The shortest useful prefix: with a shorter one, too many texts look like a generated key. */
const shortestPrefix = 3;
/** The characters that a bearer token may have. */
const keyCharacters = /^[A-Za-z0-9_.~+/=-]*/;
const standInMark = 'hidKey';
const standIn = `${standInMark}[0-9a-f]{6,}`;
const noKeys: readonly string[] = [];

/**
 * Finds API keys in a text: in a request, where the referee judges a key outside its header
 * (CLIENT-16), and in whatever leaves the process (AUTH-2). The referee, the control port and
 * copies of journals use it; the service answers its requests without it.
 */
export class KeyTexts {
  /**
   * Matches every generated key that has one of these prefixes, so it also finds keys of other
   * worlds and removed keys. Also matches stand-ins.
   */
  readonly #generated: RegExp;
  /** Keys that are searched for as they are: chosen ones, or generated ones with a short prefix. */
  readonly #literalKeys: readonly string[];
  /** A text without any of these holds no key: most texts have none. */
  readonly #marks: readonly string[];
  /** The digests of keys whose text is not known, by their prefix. */
  readonly #digests = new Map<string, Set<string>>();
  readonly #digestOf: (text: string) => string;

  constructor(keys: Iterable<ApiKey>, digestOf: (text: string) => string) {
    const prefixes = new Set<string>();
    const literalKeys: string[] = [];
    for (const { key: text, digest, drawnFrom } of keys) {
      const prefix = text.slice(0, -keyLength);
      if (digest !== undefined) this.#noteDigest(digest);
      else if (drawnFrom !== undefined && prefix.length >= shortestPrefix) prefixes.add(prefix);
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
    return this.findIn(text).reduce(
      (partlyHidden, key) => partlyHidden.replaceAll(key, standInOf(key)),
      text,
    );
  }

  #noteDigest({ prefix, sha256 }: KeyDigest): void {
    const digests = this.#digests.get(prefix);
    if (digests === undefined) this.#digests.set(prefix, new Set([sha256]));
    else digests.add(sha256);
  }

  /** The key's length is not known, so every length is tried. */
  #keyAt(text: string, at: number, digests: ReadonlySet<string>): string | undefined {
    const run = keyCharacters.exec(text.slice(at, at + longestKey))?.[0] ?? '';
    for (let length = shortestSoughtKey; length <= run.length; length++) {
      const part = run.slice(0, length);
      if (digests.has(this.#digestOf(part))) return part;
    }
    return undefined;
  }
}

function escaped(text: string): string {
  return text.replace(/[.+/-]/g, '\\$&');
}

function standInOf(key: string): string {
  if (key.startsWith(standInMark)) return key;
  const digits = [0, 1].map((seed) => (hashText(key, seed) >>> 0).toString(16).padStart(8, '0'));
  const room = key.length - standInMark.length;
  const hash = digits.join('');
  return standInMark + hash.repeat(Math.ceil(room / hash.length)).slice(0, room);
}
