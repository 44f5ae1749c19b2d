/**
 * Finds the API key for a caller's text. Rules: AUTH-2, AUTH-3.
 * A key is known by its full text, or only by its digest if it came from a snapshot or journal.
 * Those never hold a full key, but callers still use it.
 */

import { assert } from './errors.ts';
import { KeyTexts } from './key-texts.ts';
import type { ApiKey, KeyDigest } from './records.ts';

type DigestOf = (text: string) => string;

/** Is notified which headers and digests belong to a key of this ring. */
export interface KeyWatcher {
  added(headerOrDigest: string, key: ApiKey): void;
  removed(headerOrDigest: string): void;
}

/** Removed keys that are still searched for. */
export const mostFormerKeys = 10_000;

/** The header in the form that nearly every client uses. */
const headerOf = (text: string): string => `Bearer ${text}`;

export class KeyRing {
  /** Keys by their whole header, so that a request need not extract the text. */
  readonly #byHeader = new Map<string, ApiKey>();
  readonly #byDigest = new Map<string, ApiKey>();
  /** Headers and digests of removed keys: a reset can bring a key back. */
  readonly #former = new Set<string>();
  readonly texts = new KeyTexts();
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

  /** True for the text of a present key, and of one that was removed. */
  knows(text: string): boolean {
    if (this.has(text) || this.#former.has(headerOf(text))) return true;
    if (this.#digestOf === undefined || !this.texts.startsLike(text)) return false;
    const digest = this.#digestOf(text);
    return this.#byDigest.has(digest) || this.#former.has(digest);
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
    this.texts.note(key);
    this.#watcher?.added(knownBy(key), key);
  }

  delete(key: ApiKey): void {
    this.#remove(key);
    this.#former.add(knownBy(key));
    const [oldest] = this.#former;
    if (this.#former.size > mostFormerKeys && oldest !== undefined) this.#former.delete(oldest);
  }

  #remove(key: ApiKey): void {
    if (key.digest === undefined) this.#byHeader.delete(headerOf(key.key));
    else this.#byDigest.delete(key.digest.sha256);
    this.#watcher?.removed(knownBy(key));
  }

  /** Notifies `watcher` of all present keys, and of each key that is added or removed later. */
  watch(watcher: KeyWatcher): void {
    this.#watcher = watcher;
    for (const [known, key] of [...this.#byHeader, ...this.#byDigest]) watcher.added(known, key);
  }

  /** Sets the digest function; needed once a key is known by its digest. */
  digestWith(digestOf: DigestOf): void {
    this.#digestOf = digestOf;
  }

  /** Drops the full text of a key; from then on it is known by its digest. */
  forgetText(key: ApiKey, digest: KeyDigest): void {
    this.#remove(key);
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

function knownBy(key: ApiKey): string {
  return key.digest === undefined ? headerOf(key.key) : key.digest.sha256;
}
