/**
 * The bodies of a run's replies. Judges look at all replies of a run, so it keeps them: equal long
 * bodies once, and long ones together no more than a bound.
 */
import { createHash } from 'node:crypto';

export interface Body {
  /** The SHA-256 of the bytes: equal bytes have equal ones. */
  readonly digest: string;
  readonly text: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

/** Shorter bodies are not looked up: the service's replies have some hundred bytes. */
const longBytes = 4_096;
/** A list of received messages, the longest reply, has at most a mebibyte. */
export const mostKeptBytes = 33_554_432;

export class KeptBodies {
  readonly #long = new Map<string, Body>();
  #bytes = 0;

  /** Undefined if the run keeps so many long bodies that it cannot keep this one. */
  of(bytes: Buffer): Body | undefined {
    if (bytes.length <= longBytes) return bodyOf(bytes);
    const kept = this.#long.get(digestOf(bytes));
    if (kept !== undefined) return kept;
    if (this.#bytes + bytes.length > mostKeptBytes) return undefined;
    const body = bodyOf(bytes);
    this.#bytes += bytes.length;
    this.#long.set(body.digest, body);
    return body;
  }
}

export function bodyOf(bytes: Buffer): Body {
  const text = bytes.toString('utf8');
  return { digest: digestOf(bytes), text, json: parse(text) };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** Undefined if the text is not JSON. */
export function parse(text: string): unknown {
  try {
    return mayMask.test(text) ? JSON.parse(text, printable) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A name may be escaped, too. */
const mayMask = /toString|valueOf|\\u/;

/** Fields called `toString` or `valueOf` would make `String(value)` throw. */
function printable(_name: string, value: unknown): unknown {
  const isMasked = (name: string) => Object.hasOwn(Object(value), name);
  if (isMasked('toString') || isMasked('valueOf'))
    Object.defineProperty(value, Symbol.toPrimitive, { value: () => JSON.stringify(value) });
  return value;
}
