/**
 * Finds the API key for a caller's text. Rules: AUTH-2, AUTH-3.
 * A key is known by its full text, or only by its digest if it came from a snapshot or journal.
 * Those never hold a full key, but callers still use it.
 */

import { assert } from './errors.ts';
import type { ApiKey, KeyDigest } from './records.ts';

type DigestOf = (text: string) => string;

/** Is notified which headers and digests belong to a key of this ring. */
export interface KeyWatcher {
  added(headerOrDigest: string): void;
  removed(headerOrDigest: string): void;
}

/** Properties that a text must have to contain a key: a quick test for every request. */
export interface KeyTexts {
  /** The shortest length of all keys, including keys known by their digest. */
  shortest: number;
  /** 1 for each character that occurs in a key or in a key's replacement in a journal. */
  readonly codes: Uint8Array;
  /** 1 for each character that is the first one of a known key. */
  readonly firsts: Uint8Array;
  readonly lengths: Set<number>;
  /** The prefixes of keys that are known by their digest. */
  readonly prefixes: Set<string>;
}

/** Shorter keys are not searched for: any word could be one. */
const shortestSought = 12;
const tokenCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';
/** Longer than any body. */
const longestText = 2 ** 30;

/** The header in the form that nearly every client uses. */
const headerOf = (text: string): string => `Bearer ${text}`;

export class KeyRing {
  /** Keys by their whole header, so that a request need not extract the text. */
  readonly #byHeader = new Map<string, ApiKey>();
  readonly #byDigest = new Map<string, ApiKey>();
  readonly texts: KeyTexts = noTexts();
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
    this.#note(key);
    this.#watcher?.added(knownBy(key));
  }

  /**
   * Notes are not removed with a key: the quick test then only passes more texts than necessary.
   */
  #note({ key: text, digest }: ApiKey): void {
    const { texts } = this;
    const known = digest === undefined ? text : digest.prefix;
    // A digest's prefix is at most half of its key, so twice the prefix is a lower bound.
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

  /** Notifies `watcher` of all present keys, and of each key that is added or removed later. */
  watch(watcher: KeyWatcher): void {
    this.#watcher = watcher;
    for (const known of [...this.#byHeader.keys(), ...this.#byDigest.keys()]) watcher.added(known);
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
