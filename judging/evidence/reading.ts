/** Reads the parts of recorded requests and replies: JSON, paths, times, and API keys. */
import { hash } from 'node:crypto';
import { isObject } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { getOrAdd, onceInTurn } from '#io/grouped.ts';
import { jsonIn } from '#io/plain-file.ts';

/** The JSON object in a text; undefined for any other text. */
export function objectIn(text: string | undefined): Record<string, unknown> | undefined {
  const value = valueIn(text);
  return isObject(value) ? value : undefined;
}

/** The value in a JSON text; undefined for any other text. */
export function valueIn(json: string | undefined): unknown {
  return json === undefined
    ? undefined
    : jsonIn(json, undefined, mayMask(json) ? printable : undefined);
}

/** An escape of an ASCII letter, which a name may contain. */
const escapedLetter = /\\u00[4-7]/;

/**
 * True if the JSON may have a field called `toString` or `valueOf`, perhaps escaped. Looks for rare
 * characters first, because `"` and `t` are frequent: HAR files have `queryString` in each entry.
 */
function mayMask(json: string): boolean {
  return (
    (json.includes('String') && json.includes('"toString"')) ||
    (json.includes('Of') && json.includes('"valueOf"')) ||
    (json.includes('\\u') && escapedLetter.test(json))
  );
}

/** A reviver of JSON that keeps `String(value)` from throwing because of such a field. */
function printable(_name: string, value: unknown): unknown {
  const isMasked = (name: string) => Object.hasOwn(Object(value), name);
  if (isMasked('toString') || isMasked('valueOf'))
    Object.defineProperty(value, Symbol.toPrimitive, { value: () => JSON.stringify(value) });
  return value;
}

/** The path without the prefix that a gateway puts before the service's paths. */
export function pathOf(pathname: string): string {
  if (matchRoute(pathname) !== undefined) return pathname;
  const starts = [...pathname.matchAll(/\/api\//g)].map(({ index }) => pathname.slice(index));
  return starts.find((path) => matchRoute(path) !== undefined) ?? starts[0] ?? pathname;
}

const bearerForm = /^bearer[ \t]+([^\s,]+)$/i;

/** The key of a credential; undefined if it is not a bearer's. */
export const keyIn = onceInTurn((authorization: string | undefined) => {
  const [, key] = bearerForm.exec(authorization ?? '') ?? [];
  return key;
});

/** The time that a text says, in epoch milliseconds. Many exchanges have one `Date`. */
export const timeIn = onceInTurn((text: string) => Date.parse(text));

/** A character that a key, or the name of one, can contain. */
const keyCharacter = /[A-Za-z0-9_.~+/=:-]/;
/** An ASCII character as `\u00xx`; does not match if the backslash itself is escaped. */
const jsonEscape = /(?<!\\)((?:\\\\)*)\\u00([0-7][0-9a-f])/gi;
const percentEscape = /%([0-7][0-9a-f])/gi;

/**
 * Decodes escaped characters of a key: `\u004b` in JSON and `%4B` in a URL both mean K. The decoded
 * request means the same, and shows any key that an escape hid.
 */
export function plainJson(text: string): string {
  if (!text.includes('\\u00')) return text;
  return text.replaceAll(jsonEscape, (whole, before: string, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return keyCharacter.test(character) ? `${before}${character}` : whole;
  });
}

export function plainAddress(text: string): string {
  if (!text.includes('%')) return text;
  return text.replaceAll(percentEscape, (whole, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return keyCharacter.test(character) && !'/+='.includes(character) ? character : whole;
  });
}

/**
 * The form of the service's keys: finds a key that no header has. And the form of the stand-ins that
 * the simulator's own files have for keys.
 */
const drawnKey = /\bsmst_[A-Za-z0-9]{40}\b|\bhidKey[0-9a-f]{6,}\b/g;
/** Most texts have neither mark. */
const keyMarks = ['smst_', 'hidKey'];

/** Names for API keys, which stand for them wherever an exchange shows them. */
export class KeyNames {
  readonly #names = new Map<string, string>();
  readonly #hiddenKeys: string[] = [];
  /** Finds any key; undefined until it is needed, and after a new key. */
  #anyKey: RegExp | undefined;
  /** By header: the header with a name for its key. */
  readonly #headers = new Map<string, string>();

  /** The header with a name for its key. */
  named(credential: string): string {
    return getOrAdd(this.#headers, credential, () =>
      credential.replace(/(\S+)$/, (key) => this.#nameOf(key)),
    );
  }

  get names(): Iterable<string> {
    return this.#names.values();
  }

  /** The text of a body, with names for all keys that it shows, also behind escapes. */
  hiddenIn(text: string): string {
    return this.#hidden(text, plainJson(text));
  }

  /** A path or a query, with names for all keys that it shows. */
  hiddenInAddress(text: string): string {
    return this.#hidden(text, plainAddress(text));
  }

  /** `plain`: the text without escapes. */
  #hidden(text: string, plain: string): string {
    const name = (key: string) => this.#nameOf(key);
    if (this.#hiddenKeys.length > 0) this.#anyKey ??= anyOf(this.#hiddenKeys);
    let hidden = this.#anyKey === undefined ? plain : plain.replaceAll(this.#anyKey, name);
    if (keyMarks.some((mark) => hidden.includes(mark))) hidden = hidden.replaceAll(drawnKey, name);
    return hidden === plain ? text : hidden;
  }

  #nameOf(key: string): string {
    return getOrAdd(this.#names, key, () => {
      this.#hiddenKeys.push(key);
      this.#anyKey = undefined;
      return nameOf(key);
    });
  }
}

/** Finds any of these texts. The longest come first: a shorter one may begin another. */
export function anyOf(texts: readonly string[]): RegExp {
  const longestFirst = texts.toSorted((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map((text) => text.replace(/\W/g, '\\$&')).join('|'), 'g');
}

/** How a key is named. Recordings, which hold no keys, have such names. */
function nameOf(key: string): string {
  return `key:${hash('sha256', key).slice(0, 12)}`;
}
