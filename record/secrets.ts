/**
 * The salt of a recording, and the digests that replace secrets. A key has the same digest in
 * rotated files and in later recordings. Without the salt, a digest cannot be computed.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, lstatSync } from 'node:fs';
import { UsageError } from '#io/command-error.ts';
import { atOnce } from '#io/event-loop.ts';
import { createWhole, type OwnKind, openOwn, ownerOnly, removeOwn } from '#io/own-file.ts';
import { FileRefused, readOpened, reasonOf } from '#io/plain-file.ts';
import { KnownValues } from './known-values.ts';
import { plainOf } from './plain-text.ts';

const digestCharacters = 12;
const saltBytes = 32;
/** A key this long is looked for in every exchange. A shorter one could be an ordinary word. */
export const shortestSoughtKey = 12;
/** How many keys are looked for in every exchange; the oldest is dropped first. */
const mostSoughtKeys = 1_000;

const saltKind: OwnKind = {
  name: 'salt',
  isOwn: (start) => /^[0-9a-f]{64}\n?$/.test(start),
  isContinued: true,
};

/** Reads the salt of a recording, or creates it. Throws a CommandError if it can do neither. */
export function saltOf(out: string): string {
  const file = `${out}.salt`;
  try {
    // A process that was killed as it created its salt left an empty file, and recorded nothing.
    if (lstatSync(file, { throwIfNoEntry: false })?.size === 0) removeOwn(file, saltKind);
    createWhole(file, `${randomBytes(saltBytes).toString('hex')}\n`);
    const opened = openOwn(file, saltKind);
    if (opened === undefined) throw new FileRefused('removed by another program');
    try {
      fchmodSync(opened, ownerOnly);
      return readOpened(opened, 1_024).trim();
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    throw new UsageError(`${file}: ${reasonOf(error)}; move it away, or name another --out`);
  }
}

export class Secrets {
  readonly #salt: string;
  /** The digests of the keys that are looked for in every exchange, by key. */
  readonly #digests = new Map<string, string>();
  #keys: KnownValues | undefined;

  constructor(salt: string) {
    this.#salt = salt;
  }

  /** A keyed digest, such as `key:0123456789ab`. Equal values have equal digests. */
  digest(kind: string, value: string): string {
    const sum = createHmac('sha256', this.#salt).update(`${kind}\n${value}`).digest('hex');
    return `${kind}:${sum.slice(0, digestCharacters)}`;
  }

  /** The keys that are looked for in every exchange, each with its digest as the replacement. */
  get keys(): KnownValues {
    if (this.#keys === undefined) {
      this.#keys = new KnownValues();
      for (const [key, digest] of this.#digests) addKey(this.#keys, key, digest);
    }
    return this.#keys;
  }

  /** The key's digest. From now on a long key is looked for in every exchange. */
  learn(key: string): string {
    const digest = this.#digests.get(key) ?? this.digest('key', key);
    if (key.length < shortestSoughtKey || this.#digests.has(key)) return digest;
    const [oldest = ''] = this.#digests.keys();
    if (this.#digests.size >= mostSoughtKeys) this.#digests.delete(oldest);
    this.#digests.set(key, digest);
    this.#keys = undefined;
    return digest;
  }

  /** The header `Authorization` with a digest for the key, as in `Bearer key:0123456789ab`. */
  credential(header: string): string {
    const { scheme, key } = partsOf(header);
    return `${scheme}${this.learn(key)}`;
  }
}

/** Adds a key, to be found as it is and without its escapes. */
export function addKey(keys: KnownValues, key: string, digest: string): void {
  for (const one of new Set([key, atOnce(plainOf(key))])) keys.add(one, digest);
}

/** The keys in a header: its value without the scheme, its long words, or what `Basic` encodes. */
export function keysInHeader(header: string): readonly string[] {
  const { scheme, key } = partsOf(header);
  const words = header.split(/[\s,;="']+/).filter(({ length }) => length >= shortestSoughtKey);
  if (scheme.trim().toLowerCase() !== 'basic') return [key.trim(), ...words];
  const decoded = Buffer.from(key, 'base64').toString('utf8');
  const [, user = '', password = ''] = /^([^:]*):(.*)$/s.exec(decoded) ?? [];
  const secretUser = password === '' || user.length >= shortestSoughtKey ? [user] : [];
  return [key.trim(), decoded, password, ...secretUser];
}

/** The scheme of a header with the blanks behind it, empty if there is none; and the rest. */
function partsOf(header: string) {
  const [, scheme = '', key = header] = /^(\S+[ \t]+)(.*)$/.exec(header) ?? [];
  return { scheme, key };
}
