/**
 * What a load generator sends, and how fast. A request is prepared bytes with a slot, such as its
 * `request_id`, that is overwritten for each request. Building every request anew would halve the
 * generator's speed; overwriting costs nothing.
 */

export interface RequestTemplate {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The text in path or body that `next` replaces with text of the same length. */
  readonly slot?: { readonly text: string; readonly next: (ordinal: number) => string };
}

export interface Workload {
  /** Sent in turn, repeatedly. */
  readonly requests: readonly [RequestTemplate, ...RequestTemplate[]];
  /** A reply with another status is an error. */
  readonly expects: readonly number[];
}

/** The number of the next request, shared by all connections, so that no two use the same text. */
export interface Ordinals {
  next: number;
}

/** Returns a function that writes the text for the next request into the slot of `bytes`. */
export function stamper(
  template: RequestTemplate,
  bytes: Buffer,
  ordinals: Ordinals,
): () => Buffer {
  const { slot } = template;
  if (slot === undefined) return () => bytes;
  const offset = bytes.indexOf(slot.text);
  if (offset < 0) throw new Error(`the request lacks its slot ${slot.text}`);
  return () => {
    bytes.write(slot.next(ordinals.next++), offset, 'latin1');
    return bytes;
  };
}

/** The bytes of the request; `host` is the target's, with its port. */
export function requestBytes(template: RequestTemplate, host: string): Buffer {
  const { method, path, headers, body } = template;
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, 'connection: keep-alive'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (method === 'POST') lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'utf8');
}

/** The server under load. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Load {
  readonly connections: number;
  readonly durationMs: number;
  /** The rate of an open loop (`run-load.ts`); undefined: saturation (`saturate.ts`). */
  readonly perSecond?: number | undefined;
  /** Ends a saturating load early, after this many replies. */
  readonly requests?: number;
  /** Called at the end of the measurement, while the last replies still arrive. */
  readonly whenOver?: () => void;
}
