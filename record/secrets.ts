/**
 * The salt of a recording, and the digests that stand for secrets in it. The same key always has
 * the same digest, in rotated files and in later recordings too. Without the salt it cannot be
 * computed.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, lstatSync } from 'node:fs';
import { UsageError } from '#io/command-error.ts';
import { createWhole, type OwnKind, openOwn, ownerOnly, removeOwn } from '#io/own-file.ts';
import { FileRefused, readOpened, reasonOf } from '#io/plain-file.ts';

const digestCharacters = 12;
const saltBytes = 32;
/** A key in the service's own form, with a plain or an escaped underscore. */
const drawnKey = /\bsmst(?:_|%5f|\\u005f)([A-Za-z0-9]{40})\b/gi;
/** Names whose values are usually secrets, in a query, a form or JSON. */
const secretNames = 'api[_-]?key|key|token|access_token|auth|authorization|password|secret';
const secretParameter = new RegExp(`((?:^|[?&])(?:${secretNames})=)([^&\\s]+)`, 'gi');
const secretMember = new RegExp(`("(?:${secretNames})"\\s*:\\s*)"((?:[^"\\\\]|\\\\.)+)"`, 'gi');
const escapedCharacter = /\\u00([0-7][0-9a-f])|%([0-7][0-9a-f])|\\(["\\/])/gi;
/** Words of the service's interface: replacing a key that equals one would garble the request. */
const serviceWords =
  /^(?:send|received|devices|tasks|account|stats|message|status|queued|sending|sent|delivered|failed|from|true|false|null|code|detail|request_id|message_id|device_id|from_number|created_at|send_at)$/;
/** Characters. A shorter key of the request itself is not looked for in its path and bodies. */
const shortestOwnKey = 4;
/** Characters. A shorter key is not looked for in other requests: it may be an ordinary word. */
const shortestSoughtKey = 12;
/** How many keys are looked for outside their header. */
export const mostSoughtKeys = 1_000;

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
  /** The digests of the keys that are looked for outside their header, by key. */
  readonly #keys = new Map<string, string>();

  constructor(salt: string) {
    this.#salt = salt;
  }

  digest(kind: string, value: string): string {
    const sum = createHmac('sha256', this.#salt).update(`${kind}\n${value}`).digest('hex');
    return `${kind}:${sum.slice(0, digestCharacters)}`;
  }

  /**
   * The header `Authorization` with a digest for the key, such as `Bearer key:0123456789ab`. From
   * now on the key is looked for everywhere.
   */
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

  /**
   * The text with digests for the keys that came in a header, plain or escaped, and for those in
   * the service's own form. `ownKey`: the key of this request, which may be short.
   */
  hidden(text: string, ownKey = ''): string {
    const plain = plainOf(text);
    let result = text;
    for (const [key, digest] of this.#keys)
      if (plain.includes(key) || text.includes(key))
        result = result.replace(patternOf(key), digest);
    const isShort = ownKey.length < shortestSoughtKey && ownKey.length >= shortestOwnKey;
    if (isShort && !serviceWords.test(ownKey) && (plain.includes(ownKey) || text.includes(ownKey)))
      result = result.replace(patternOf(ownKey), this.digest('key', ownKey));
    if (!/smst(?:_|%5f|\\u005f)/i.test(result)) return result;
    return result.replace(drawnKey, (_, drawn: string) => this.digest('key', `smst_${drawn}`));
  }

  /** Also hides the values of parameters that usually hold secrets. */
  hiddenInQuery(path: string, ownKey?: string): string {
    return this.hidden(path, ownKey).replace(
      secretParameter,
      (_, name: string, key: string) => name + this.#digestOf(key),
    );
  }

  /** Also hides the values of JSON members, or fields of a form, that usually hold secrets. */
  hiddenInBody(text: string, ownKey?: string): string {
    const isJson = /^\s*[[{"]/.test(text);
    if (!isJson) return this.hiddenInQuery(text, ownKey);
    return this.hidden(text, ownKey).replace(
      secretMember,
      (_, name: string, value: string) => `${name}"${this.#digestOf(value)}"`,
    );
  }

  #digestOf(value: string): string {
    return /(?:^|\s)key:[0-9a-f]{12}$/.test(value) ? value : this.digest('key', plainOf(value));
  }
}

/** The text with its escapes resolved: `%2F`, `\u002f` and `\/` all mean a slash. */
function plainOf(text: string): string {
  if (!text.includes('%') && !text.includes('\\')) return text;
  return text.replace(
    escapedCharacter,
    (_, unicode?: string, percent?: string, plain?: string) =>
      plain ?? String.fromCharCode(Number.parseInt(unicode ?? percent ?? '', 16)),
  );
}

/** Matches a key with any of its characters escaped; a short key only as a whole word. */
function patternOf(key: string): RegExp {
  const characters = [...key].map((character) => {
    const code = character.charCodeAt(0).toString(16).padStart(2, '0');
    const hex = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
    const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
    const backslashed = '"\\/'.includes(character) ? `|\\\\${literal}` : '';
    return `(?:%${hex}|\\\\u00${hex}${backslashed}|${literal})`;
  });
  const [before, after] =
    key.length < shortestSoughtKey ? ['(?<![A-Za-z0-9])', '(?![A-Za-z0-9])'] : ['', ''];
  return new RegExp(before + characters.join('') + after, 'g');
}
