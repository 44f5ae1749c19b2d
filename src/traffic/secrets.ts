/**
 * The salt of a recording, and what stands for secrets in it: the same key always has the same
 * digest, in rotated and in later recordings too, and it cannot be computed without the salt.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { CommandError } from '../commands/command-error.ts';
import { readText, reasonOf } from '../config/plain-file.ts';

const digestCharacters = 12;
const saltBytes = 32;
const ownerOnly = 0o600;
/** As the service draws keys. */
const drawnKey = /\bsmst_[A-Za-z0-9]{40}\b/g;
/** Names of values in a query that are usually keys. */
const secretParameter = /([?&](?:api[_-]?key|key|token|access_token|auth|authorization)=)([^&]+)/gi;
const shortestSoughtKey = 12;
/** Keys that are looked for outside their header. */
export const mostSoughtKeys = 1_000;

/** Reads the salt that belongs to a recording; makes one if there is none. */
export function saltOf(out: string): string {
  const file = `${out}.salt`;
  try {
    const salt = randomBytes(saltBytes).toString('hex');
    const descriptor = openSync(file, 'wx', ownerOnly);
    writeSync(descriptor, `${salt}\n`);
    closeSync(descriptor);
    return salt;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw refusal(file, error);
  }
  try {
    const salt = readText(file, 1_024).trim();
    if (/^[0-9a-f]{64}$/.test(salt)) return salt;
  } catch (error) {
    throw refusal(file, error);
  }
  throw new CommandError(2, `${file}: not a salt of smstwin; name another --out`);
}

function refusal(file: string, error: unknown): CommandError {
  return new CommandError(2, `${file}: ${reasonOf(error)}`);
}

export class Secrets {
  readonly #salt: string;
  readonly #keys = new Map<string, string>();

  constructor(salt: string) {
    this.#salt = salt;
  }

  digest(kind: string, value: string): string {
    const sum = createHmac('sha256', this.#salt).update(`${kind}\n${value}`).digest('hex');
    return `${kind}:${sum.slice(0, digestCharacters)}`;
  }

  /** `Bearer key:0123456789ab`: the scheme and the spaces as sent. */
  credential(header: string): string {
    const [, scheme = '', key = header] = /^(\S+[ \t]+)(.*)$/.exec(header) ?? [];
    const digest = this.#keys.get(key) ?? this.digest('key', key);
    if (key.length >= shortestSoughtKey && !this.#keys.has(key)) {
      const [oldest = ''] = this.#keys.keys();
      if (this.#keys.size >= mostSoughtKeys) this.#keys.delete(oldest);
      this.#keys.set(key, digest);
    }
    return `${scheme}${digest}`;
  }

  /** The text without keys that came in a header, that look drawn, or that a query names. */
  hidden(text: string): string {
    let left = text;
    for (const [key, digest] of this.#keys)
      if (left.includes(key)) left = left.replaceAll(key, digest);
    if (left.includes('smst_')) left = left.replace(drawnKey, (key) => this.digest('key', key));
    return left;
  }

  hiddenInQuery(path: string): string {
    return this.hidden(path).replace(secretParameter, (_, name: string, key: string) =>
      key.startsWith('key:') ? `${name}${key}` : `${name}${this.digest('key', key)}`,
    );
  }
}
