/**
 * API keys in the wrong place: in the path, query or body of a request. The key is replaced before
 * anything records the request, and put back in the reply to its client. Rules: AUTH-1, AUTH-2.
 * The replacement has the key's length and a key's characters, and is always the same for the same
 * key. So a journal replays to the same replies, and `request_id` keeps its meaning.
 */
import { type KeyTexts, shortestSoughtKey } from '../../sim/key-texts.ts';
import type { ApiReply, ApiRequest } from './messages.ts';
import { plainAddress, plainJson } from './plain-spelling.ts';

/** The keys to look for: those of a world, or of all other worlds of a server. */
export interface SoughtKeys {
  readonly texts: KeyTexts;
  knows(text: string): boolean;
}

const standInMark = 'hidKey';
const standIn = /hidKey[0-9a-f]{6}/;

/** A request with replaced keys, and the keys that were replaced. */
export class Hiding implements ApiRequest {
  readonly path: string;
  readonly query: string;
  readonly body: string | Uint8Array;
  readonly #request: ApiRequest;
  readonly #keys: readonly string[];

  constructor(request: ApiRequest, { path, query, text: sent }: Spelled, keys: readonly string[]) {
    this.#request = request;
    this.#keys = keys;
    this.path = this.#without(path);
    this.query = this.#without(query);
    const { body } = request;
    const text = this.#without(sent);
    this.body = typeof body === 'string' ? text : Buffer.from(text, 'latin1');
  }

  get method(): string {
    return this.#request.method;
  }

  get authorization(): string | undefined {
    return this.#request.authorization;
  }

  get contentType(): string | undefined {
    return this.#request.contentType;
  }

  get contentEncoding(): string | undefined {
    return this.#request.contentEncoding;
  }

  get clientIp(): string {
    return this.#request.clientIp;
  }

  get forwardedFor(): string | undefined {
    return this.#request.forwardedFor;
  }

  /** The reply for the client, with the original keys put back. */
  revealed(reply: ApiReply): ApiReply {
    const location = reply.headers?.['location'];
    const own = {
      ...reply,
      body: this.#with(reply.body),
      ...(location !== undefined && {
        headers: { ...reply.headers, location: this.#with(location) },
      }),
    };
    return this.#request instanceof Hiding ? this.#request.revealed(own) : own;
  }

  #without(text: string): string {
    return this.#keys.reduce((left, key) => left.replaceAll(key, standInOf(key)), text);
  }

  #with(text: string): string {
    return this.#keys.reduce((left, key) => left.replaceAll(standInOf(key), key), text);
  }
}

/** The request with these keys replaced; undefined if it shows none of them. */
export function hideKeys(sought: SoughtKeys, request: ApiRequest): Hiding | undefined {
  const { texts } = sought;
  const { body, path, query } = request;
  const isPossible =
    (typeof body === 'string' ? isRunIn(body, texts) : isRunInBytes(body, texts)) ||
    isRunIn(path, texts) ||
    isRunIn(query, texts) ||
    isEscaped(request);
  if (!isPossible) return undefined;
  const spelled = {
    path: plainAddress(path),
    query: plainAddress(query),
    text: plainJson(textOf(body)),
  };
  const text = `${spelled.path}\n${spelled.query}\n${spelled.text}`;
  const keys = keysIn(text, sought, tokenOf(request.authorization));
  return keys.length === 0 && !standIn.test(text) ? undefined : new Hiding(request, spelled, keys);
}

/** The path, query and body, with the escapes of key characters removed. */
interface Spelled {
  readonly path: string;
  readonly query: string;
  readonly text: string;
}

function isEscaped({ path, query, body }: ApiRequest): boolean {
  if (path.includes('%') || query.includes('%')) return true;
  if (typeof body === 'string') return body.includes('\\u00');
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('\\u00');
}

/**
 * True if the text has a run of key characters as long as a key. Every request pays for this test,
 * so it samples one character in several. Two functions, so that each sees one type.
 */
function isRunIn(text: string, { shortest, codes }: KeyTexts): boolean {
  const { length } = text;
  for (let at = shortest - 1; at < length; at += shortest) {
    if (codes[text.charCodeAt(at)] !== 1) continue;
    let from = at;
    while (from > 0 && codes[text.charCodeAt(from - 1)] === 1) from--;
    let to = at + 1;
    while (to < length && codes[text.charCodeAt(to)] === 1) to++;
    if (to - from >= shortest) return true;
  }
  return false;
}

function isRunInBytes(bytes: Uint8Array, { shortest, codes }: KeyTexts): boolean {
  const { length } = bytes;
  for (let at = shortest - 1; at < length; at += shortest) {
    if (codes[bytes[at] as number] !== 1) continue;
    let from = at;
    while (from > 0 && codes[bytes[from - 1] as number] === 1) from--;
    let to = at + 1;
    while (to < length && codes[bytes[to] as number] === 1) to++;
    if (to - from >= shortest) return true;
  }
  return false;
}

const runs = /[A-Za-z0-9_.~+/=-]+/g;

function keysIn(text: string, sought: SoughtKeys, own: string | undefined): string[] {
  const found = new Set<string>();
  if (own !== undefined && text.includes(own)) found.add(own);
  const { texts } = sought;
  const { lengths, firsts } = texts;
  for (const [run] of text.matchAll(runs)) {
    if (texts.startsLike(run) && sought.knows(run)) found.add(run);
    for (const length of lengths) {
      for (let at = 0; at + length <= run.length; at++) {
        if (firsts[run.charCodeAt(at)] !== 1) continue;
        const part = run.slice(at, at + length);
        if (sought.knows(part)) found.add(part);
      }
    }
  }
  return [...found];
}

/** The key of a header, known or not; undefined if it is too short to be searched for. */
function tokenOf(authorization: string | undefined): string | undefined {
  const token = /\S+$/.exec(authorization ?? '')?.[0];
  return token !== undefined && token.length >= shortestSoughtKey ? token : undefined;
}

/** Keys are ASCII, so Latin-1 finds them and preserves every other byte. */
function textOf(body: ApiRequest['body']): string {
  if (typeof body === 'string') return body;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
}

/** 64-bit FNV-1a in hexadecimal digits, repeated to the key's length. */
function standInOf(key: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < key.length; at++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(key.charCodeAt(at))) * 0x100000001b3n);
  }
  const digits = hash.toString(16).padStart(16, '0');
  const room = key.length - standInMark.length;
  return `${standInMark}${digits.repeat(Math.ceil(room / digits.length)).slice(0, room)}`;
}
