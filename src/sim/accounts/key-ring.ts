/**
 * Finds the API key that a caller sends. Rules: AUTH-2, AUTH-3.
 * A key is known by its full text. If it came from a snapshot or journal, it is known only by its
 * digest: those never hold a full key, but callers still use it. `key-texts.ts` finds keys in
 * texts.
 */
import { assert } from '../errors.ts';
import type { ApiKey, KeyDigest } from './account.ts';
import { KeyTexts } from './key-texts.ts';

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

  /** True if a key has this full text. A key that is known only by its digest does not count. */
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

  /** Drops the texts of these keys, by the digests of their texts. */
  useDigests(
    keys: Iterable<ApiKey>,
    digests: ReadonlyMap<string, KeyDigest>,
    digestOf: DigestOf,
  ): void {
    this.digestWith(digestOf);
    for (const key of keys) {
      const digest = digests.get(key.key);
      if (digest !== undefined) this.forgetText(key, digest);
    }
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
