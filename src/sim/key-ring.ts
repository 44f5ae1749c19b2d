/**
 * Finds the API key that a caller's text is. Rules: AUTH-2, AUTH-3.
 * A key is known by its full text, or by its digest alone where it came from a snapshot or a
 * journal: neither holds a full key, and callers still have theirs.
 */

import { assert } from './errors.ts';
import type { ApiKey, KeyDigest } from './records.ts';

type DigestOf = (text: string) => string;

/** Hears which headers and digests lead to a key of this ring. */
export interface KeyWatcher {
  added(headerOrDigest: string): void;
  removed(headerOrDigest: string): void;
}

/** What a text must have to hold one of the keys, for a quick look at every request. */
export interface KeyTexts {
  /** Of all keys that are looked for, those known by their digest included. */
  shortest: number;
  /** 1 for each character that one of them has, or what stands for one in a journal. */
  readonly codes: Uint8Array;
  /** 1 for each character that a known text starts with. */
  readonly firsts: Uint8Array;
  readonly lengths: Set<number>;
  /** How those start that are known by their digest. */
  readonly prefixes: Set<string>;
}

/** Shorter keys are not looked for: any word could be one. */
const shortestSought = 12;
const tokenCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';
/** No body is so long. */
const longestText = 2 ** 30;

/** The header as nearly every client writes it. */
const headerOf = (text: string): string => `Bearer ${text}`;

export class KeyRing {
  /** By the header that carries the text, so that no request has to cut it out. */
  readonly #byHeader = new Map<string, ApiKey>();
  readonly #byDigest = new Map<string, ApiKey>();
  readonly texts: KeyTexts = noTexts();
  #digestOf: DigestOf | undefined;
  #watcher: KeyWatcher | undefined;

  /**
   * The key of an Authorization header in its usual spelling; any other, and a digest, is left to
   * `find`.
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

  /** Whether the key itself is found by what is known of it. */
  holds(key: ApiKey): boolean {
    return key.digest === undefined
      ? this.findHeader(headerOf(key.key)) === key
      : this.#byDigest.get(key.digest.sha256) === key;
  }

  /** Texts and digests that lead to a key. */
  get size(): number {
    return this.#byHeader.size + this.#byDigest.size;
  }

  add(key: ApiKey): void {
    if (key.digest === undefined) this.#byHeader.set(headerOf(key.key), key);
    else this.#byDigest.set(key.digest.sha256, key);
    this.#note(key);
    this.#watcher?.added(knownBy(key));
  }

  /** What was noted stays when a key goes: it only makes a look less quick. */
  #note({ key: text, digest }: ApiKey): void {
    const { texts } = this;
    const known = digest === undefined ? text : digest.prefix;
    // Of a key that is known by its digest, at most half is shown.
    const length = digest === undefined ? text.length : 2 * known.length;
    if (length < shortestSought) return;
    texts.shortest = Math.min(texts.shortest, length);
    for (let at = 0; at < known.length; at++) texts.codes[known.charCodeAt(at)] = 1;
    if (digest === undefined) {
      texts.lengths.add(length);
      texts.firsts[text.charCodeAt(0)] = 1;
    } else {
      texts.prefixes.add(known);
      for (const character of tokenCharacters) texts.codes[character.charCodeAt(0)] = 1;
    }
  }

  delete(key: ApiKey): void {
    if (key.digest === undefined) this.#byHeader.delete(headerOf(key.key));
    else this.#byDigest.delete(key.digest.sha256);
    this.#watcher?.removed(knownBy(key));
  }

  /** `watcher` hears of all keys that there are, and of each that comes or goes from now on. */
  watch(watcher: KeyWatcher): void {
    this.#watcher = watcher;
    for (const known of [...this.#byHeader.keys(), ...this.#byDigest.keys()]) watcher.added(known);
  }

  /** How a text is digested; needed once a key is known by its digest. */
  digestWith(digestOf: DigestOf): void {
    this.#digestOf = digestOf;
  }

  /** Forgets the full text of a key; it is then known by its digest. */
  forgetText(key: ApiKey, digest: KeyDigest): void {
    this.delete(key);
    key.key = '';
    key.digest = digest;
    this.add(key);
  }

  /** Another text that stands for a key, until it is dropped: for playing a recorded run. */
  alias(alias: string, key: ApiKey): void {
    assert(!this.has(alias), 'an alias is no key');
    this.#byHeader.set(headerOf(alias), key);
  }

  dropAlias(alias: string): void {
    this.#byHeader.delete(headerOf(alias));
  }
}

function noTexts(): KeyTexts {
  const codes = new Uint8Array(128);
  for (const character of 'hidKey0123456789abcdef') codes[character.charCodeAt(0)] = 1;
  return {
    shortest: longestText,
    codes,
    firsts: new Uint8Array(128),
    lengths: new Set(),
    prefixes: new Set(),
  };
}

function knownBy(key: ApiKey): string {
  return key.digest === undefined ? headerOf(key.key) : key.digest.sha256;
}
