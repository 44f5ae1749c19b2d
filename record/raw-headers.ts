/**
 * Headers as the proxy passes them on: Node's flat lists, in which names and values alternate, with
 * the order and spelling of what came.
 */
import type { IncomingMessage } from 'node:http';

export type Header = readonly [name: string, value: string];

export function isNamed(name: string, wanted: string): boolean {
  return name.toLowerCase() === wanted;
}

export function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : [],
  );
}

/** The headers of a request, with the upstream's `Host`, which one of HTTP/1.0 may lack. */
export function headersFor({ host }: URL, { rawHeaders, headers, httpVersion }: IncomingMessage) {
  const passed = pairsOf(withoutIdleTrailer(rawHeaders));
  const replaced = passed.flatMap(([name, value]) => [name, isNamed(name, 'host') ? host : value]);
  const isLacking = httpVersion === '1.0' && headers.host === undefined;
  return isLacking ? ['Host', host, ...replaced] : replaced;
}

/** The headers of a reply, for a body of this length. */
export function headersWithLength({ rawHeaders }: IncomingMessage, length: number): string[] {
  const others = pairsOf(rawHeaders).filter(
    ([name]) => !/^(?:content-length|transfer-encoding|content-encoding)$/i.test(name),
  );
  return [...others.flat(), 'Content-Length', String(length)];
}

/** The headers less a `Trailer` that no chunks follow: it announces nothing, and Node refuses it. */
export function withoutIdleTrailer(headers: readonly string[], isChunkless = false): string[] {
  const pairs = pairsOf(headers);
  const isChunked = ([name, value]: Header) =>
    isNamed(name, 'transfer-encoding') && /\bchunked\b/i.test(value);
  const hasChunks = !isChunkless && pairs.some(isChunked);
  return pairs.filter(([name]) => hasChunks || !isNamed(name, 'trailer')).flat();
}
