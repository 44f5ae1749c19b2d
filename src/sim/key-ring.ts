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

/** The header as nearly every client writes it. */
const headerOf = (text: string): string => `Bearer ${text}`;

export class KeyRing {
  /** By the header that carries the text, so that no request has to cut it out. */
  readonly #byHeader = new Map<string, ApiKey>();
  readonly #byDigest = new Map<string, ApiKey>();
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
    this.#watcher?.added(knownBy(key));
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

function knownBy(key: ApiKey): string {
  return key.digest === undefined ? headerOf(key.key) : key.digest.sha256;
}
