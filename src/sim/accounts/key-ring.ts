/**
 * Finds the API key that a caller sends. Rules: AUTH-2, AUTH-3. A key is known by its full text. If
 * it came from a snapshot or journal, it is known only by its digest: those never hold a full key,
 * but callers still use it. `key-texts.ts` finds keys in texts.
 */
import { assert } from '../errors.ts';
import type { ApiKey, KeyDigest } from './account.ts';
import { KeyTexts } from './key-texts.ts';

type DigestOf = (text: string) => string;

/** Is notified of the headers, or digests, by which a ring knows its keys. */
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
    const byText = this.findHeader(headerOf(text));
    if (byText !== undefined || this.#digestOf === undefined || this.#byDigest.size === 0)
      return byText;
    return this.#byDigest.get(this.#digestOf(text));
  }

  /** True if a key has this full text. A key that is known only by its digest does not count. */
  hasText(text: string): boolean {
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

  /** The number of texts, aliases included, and digests that belong to a key. */
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
    for (const headerOrDigest of [...this.#byHeader.keys(), ...this.#byDigest.keys()])
      watcher.added(headerOrDigest);
  }

  /** Keeps only the digest of each of these keys that `digests` has, by its full text. */
  forgetTexts(
    keys: Iterable<ApiKey>,
    digests: ReadonlyMap<string, KeyDigest>,
    digestOf: DigestOf,
  ): void {
    this.setDigestFunction(digestOf);
    for (const key of keys) {
      const digest = digests.get(key.key);
      if (digest !== undefined) this.#forgetText(key, digest);
    }
  }

  /** Needed once a key is known by its digest. */
  setDigestFunction(digestOf: DigestOf): void {
    this.#digestOf = digestOf;
  }

  /** Drops the full text of a key; from then on it is known by its digest. */
  #forgetText(key: ApiKey, digest: KeyDigest): void {
    this.delete(key);
    key.key = '';
    key.digest = digest;
    this.add(key);
  }

  /** Accepts another text for a key until it is dropped: for replaying a recorded run. */
  alias(alias: string, key: ApiKey): void {
    assert(!this.hasText(alias), 'the alias is not yet the text of a key');
    this.#byHeader.set(headerOf(alias), key);
  }

  dropAlias(alias: string): void {
    this.#byHeader.delete(headerOf(alias));
  }
}

function knownBy(key: ApiKey): string {
  return key.digest === undefined ? headerOf(key.key) : key.digest.sha256;
}
