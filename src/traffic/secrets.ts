/**
 * The salt of a recording, and what stands for secrets in it: the same key always has the same
 * digest, in rotated and in later recordings too, and it cannot be computed without the salt.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { CommandError } from '../commands/command-error.ts';
import { readText, reasonOf } from '../config/plain-file.ts';

const digestCharacters = 12;
const saltBytes = 32;
const ownerOnly = 0o600;
/** As the service draws keys, plain or with an escaped underline. */
const drawnKey = /\bsmst(?:_|%5f|\\u005f)([A-Za-z0-9]{40})\b/gi;
/** Names of values that are usually keys: in a query, in a form, in JSON. */
const names = 'api[_-]?key|key|token|access_token|auth|authorization|password|secret';
const secretParameter = new RegExp(`((?:^|[?&])(?:${names})=)([^&\\s]+)`, 'gi');
const secretMember = new RegExp(`("(?:${names})"\\s*:\\s*)"((?:[^"\\\\]|\\\\.)+)"`, 'gi');
const escaped = /\\u00([0-7][0-9a-f])|%([0-7][0-9a-f])|\\(["\\/])/gi;
/** Words of the service: a key that is one of them would hide what a request is. */
const ownWords =
  /^(?:send|received|devices|tasks|account|stats|message|status|queued|sending|sent|delivered|failed|from|true|false|null|code|detail|request_id|message_id|device_id|from_number|created_at|send_at)$/;
const shortestOwnKey = 4;
const shortestSoughtKey = 12;
/** Keys that are looked for outside their header. */
export const mostSoughtKeys = 1_000;

/** Reads the salt that belongs to a recording; makes one if there is none. */
export function saltOf(out: string): string {
  const file = `${out}.salt`;
  try {
    const salt = randomBytes(saltBytes).toString('hex');
    writeFileSync(file, `${salt}\n`, { flag: 'wx', mode: ownerOnly });
    return salt;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new CommandError(2, `--out ${out}: there is no such folder; create it`);
    if (code !== 'EEXIST') throw refusal(file, error);
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

  /**
   * The text without keys that came in a header, plain or escaped, and without those that look drawn.
   * `own`: the key of this request, which may be short.
   */
  hidden(text: string, own = ''): string {
    const plain = plainOf(text);
    let left = text;
    for (const [key, digest] of this.#keys)
      if (plain.includes(key) || text.includes(key)) left = left.replace(spelled(key), digest);
    const isShort = own.length < shortestSoughtKey && own.length >= shortestOwnKey;
    if (isShort && !ownWords.test(own) && (plain.includes(own) || text.includes(own)))
      left = left.replace(spelled(own), this.digest('key', own));
    if (!/smst(?:_|%5f|\\u005f)/i.test(left)) return left;
    return left.replace(drawnKey, (_, drawn: string) => this.digest('key', `smst_${drawn}`));
  }

  hiddenInQuery(path: string, own?: string): string {
    return this.hidden(path, own).replace(
      secretParameter,
      (_, name: string, key: string) => name + this.#digestOf(key),
    );
  }

  /** Also hides what a member or a field of a form names as a key. */
  hiddenInBody(text: string, own?: string): string {
    const isJson = /^\s*[[{"]/.test(text);
    if (!isJson) return this.hiddenInQuery(text, own);
    return this.hidden(text, own).replace(
      secretMember,
      (_, name: string, value: string) => `${name}"${this.#digestOf(value)}"`,
    );
  }

  #digestOf(value: string): string {
    return /(?:^|\s)key:[0-9a-f]{12}$/.test(value) ? value : this.digest('key', plainOf(value));
  }
}

/** `%2F`, `\u002f` and `\/` all mean a slash. */
function plainOf(text: string): string {
  if (!text.includes('%') && !text.includes('\\')) return text;
  return text.replace(
    escaped,
    (_, unicode?: string, percent?: string, plain?: string) =>
      plain ?? String.fromCharCode(Number.parseInt(unicode ?? percent ?? '', 16)),
  );
}

/** Matches a key in every spelling; a short one only as a whole word. */
function spelled(key: string): RegExp {
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
