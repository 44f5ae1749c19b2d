/**
 * Keeps the bodies of a run's replies, because judges look at all of them. To bound the memory, it
 * keeps equal long bodies once, and a limited total of long ones.
 */
import { createHash } from 'node:crypto';
import { valueIn } from '#judging/evidence/reading.ts';

export interface Body {
  /** The SHA-256 of the bytes, for comparison byte for byte. */
  readonly digest: string;
  readonly text: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

/** A body is long if it has more bytes. Most replies of the service have some hundred. */
const longBytes = 4_096;
/** The most bytes of all long bodies. A list of received messages has up to a mebibyte. */
export const mostKeptBytes = 33_554_432;

export class KeptBodies {
  readonly #long = new Map<string, Body>();
  #bytes = 0;

  /** The body of these bytes; undefined if it does not fit into the total of long bodies. */
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
  return { digest: digestOf(bytes), text, json: valueIn(text) };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}
