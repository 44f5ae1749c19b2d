/**
 * The requests of a generator: prepared bytes with a slot that is rewritten for each request.
 * Building each request for a fresh `request_id` would halve the generator's speed; rewriting costs
 * nothing.
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

/** Counts the requests of one load, so that no two connections use the same fresh text. */
export interface Ordinals {
  next: number;
}

export function stamper(
  template: RequestTemplate,
  bytes: Buffer,
  ordinals: Ordinals,
): () => Buffer {
  const { slot } = template;
  if (slot === undefined) return () => bytes;
  const place = bytes.indexOf(slot.text);
  if (place < 0) throw new Error(`the request lacks its slot ${slot.text}`);
  return () => {
    bytes.write(slot.next(ordinals.next++), place, 'latin1');
    return bytes;
  };
}

/** The request as sent; `host` is the target's, with its port. */
export function requestBytes(template: RequestTemplate, host: string): Buffer {
  const { method, path, headers, body } = template;
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, 'connection: keep-alive'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (method === 'POST') lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'utf8');
}

/**
 * The input of both load generators.
 */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Load {
  readonly connections: number;
  readonly durationMs: number;
  /** In open loop; undefined saturates. */
  readonly perSecond?: number | undefined;
  /** Ends a saturating load early, after this many replies. */
  readonly requests?: number;
  /** Called at the end of the measurement, while the last replies still arrive. */
  readonly whenOver?: () => void;
}
