/**
 * What a load generator sends, and how fast. A request is prepared bytes with a slot: the place of
 * a text that differs from request to request, such as the `request_id`. The text is overwritten
 * for each request. Building every request anew would halve the generator's speed.
 */
import { servicePaths } from '#contract/routes.ts';

/** All texts of a slot have the same length. */
export interface Slot {
  /** The text in path or body that is overwritten. */
  readonly placeholder: string;
  /** The text of the n-th request, counted from 0. */
  readonly textOf: (n: number) => string;
}

export interface RequestTemplate {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly slot?: Slot;
}

export function sendTemplate(apiKey: string, fields: object) {
  return {
    method: 'POST',
    path: servicePaths.send,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  } as const;
}

export interface Workload {
  /** Sent in turn, repeatedly. */
  readonly requests: readonly [RequestTemplate, ...RequestTemplate[]];
  /** A reply with another status is an error. */
  readonly expects: readonly number[];
}

/** How many slots were filled. All connections share it, so that no two use the same text. */
export interface SlotCounter {
  filled: number;
}

/** Returns a function that writes the text for the next request into the slot of `bytes`. */
export function stamper(
  { slot }: RequestTemplate,
  bytes: Buffer,
  counter: SlotCounter,
): () => Buffer {
  if (slot === undefined) return () => bytes;
  const offset = bytes.indexOf(slot.placeholder);
  if (offset < 0) throw new Error(`the request lacks its slot ${slot.placeholder}`);
  return () => {
    bytes.write(slot.textOf(counter.filled++), offset, 'latin1');
    return bytes;
  };
}

export function requestBytes(template: RequestTemplate, host: string): Buffer {
  const { method, path, headers, body } = template;
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, 'connection: keep-alive'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (method === 'POST') lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'utf8');
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Load {
  readonly connections: number;
  readonly durationMs: number;
  /** The rate of an open loop (`run-load.ts`); undefined: saturation. */
  readonly perSecond?: number | undefined;
  /** Ends a saturating load early, after this many replies. */
  readonly requests?: number;
  /** Called at the end of the measurement, while the last replies still arrive. */
  readonly whenOver?: () => void;
}
