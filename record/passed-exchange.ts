/**
 * An exchange as the recorder saw it pass, before redaction: times, addresses, both heads, and
 * bodies up to a bound. The functions read and pass heads and bodies. They keep the order and
 * spelling of headers, in Node's flat lists (`rawHeaders`), in which names and values alternate.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FaultKindName } from '#contract/fault-kinds.ts';

export interface PassedExchange {
  /** The date when it began. */
  readonly sentMs: number;
  /** When it began and ended, by the steady clock of this process. */
  readonly steadyMs: readonly [sent: number, answered: number];
  /** The number of the client's connection, from 1. */
  readonly connection: number;
  readonly clientIp: string;
  readonly method: string;
  readonly target: string;
  readonly requestHeaders: readonly Header[];
  readonly requestBody: Body;
  /** Undefined if no whole reply came. */
  readonly reply: PassedReply | undefined;
  /** Why no whole reply came, or why the client did not see it. */
  readonly failure: string | undefined;
  readonly fault: FaultKindName | undefined;
}

export interface PassedReply {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: Body;
}

/** A body, or its length in bytes if it is too long to keep. */
export type Body = Buffer | number;

export type Header = readonly [name: string, value: string];

/** Characters that Node reads in the reason of a reply, but refuses to send. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/g;

/** The longest recorded body in bytes. Longer ones pass, but only their length is recorded. */
export const longestRecordedBody = 1_048_576;

/** Copies a body as it passes, up to a bound; returns a function that returns what has passed. */
export function collectBody(message: IncomingMessage): () => Body {
  let chunks: Buffer[] = [];
  let length = 0;
  message.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= longestRecordedBody) chunks.push(chunk);
    else chunks = [];
  });
  return () => (length > longestRecordedBody ? length : Buffer.concat(chunks));
}

export function errorNameOf({ code, message }: NodeJS.ErrnoException): string {
  return code ?? message;
}

function isNamed(name: string, wanted: string): boolean {
  return name.toLowerCase() === wanted;
}

/** The headers of Node's flat list. */
export function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : [],
  );
}

/** The headers of a request, with the upstream's `Host`; a request of HTTP/1.0 may have had none. */
export function headersFor({ host }: URL, { rawHeaders, headers, httpVersion }: IncomingMessage) {
  const passed = pairsOf(withoutUnusedTrailer(rawHeaders));
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

/** Passes the head of a reply to the client, with its own headers or with these. */
export function writeReplyHead(
  response: ServerResponse,
  { statusCode = 0, statusMessage = '', rawHeaders }: IncomingMessage,
  headers: readonly string[] = rawHeaders,
): void {
  const pairs = pairsOf(headers);
  // Node would add these if the service left them out.
  for (const name of ['connection', 'transfer-encoding'])
    if (!pairs.some(([present]) => isNamed(present, name))) response.removeHeader(name);
  // A client of HTTP/1.0 knows no chunks.
  const isOld = response.req.httpVersion === '1.0';
  const passed = pairs.filter(([name]) => !(isOld && isNamed(name, 'transfer-encoding')));
  const isChunkless = statusCode === 204 || statusCode === 304;
  const reason = statusMessage.replace(unsendable, '');
  response.writeHead(statusCode, reason, withoutUnusedTrailer(passed.flat(), isChunkless));
}

/** Removes a `Trailer` if no chunks follow: then it announces nothing, and Node refuses it. */
function withoutUnusedTrailer(headers: readonly string[], isChunkless = false): string[] {
  const pairs = pairsOf(headers);
  const isChunked = ([name, value]: Header) =>
    isNamed(name, 'transfer-encoding') && /\bchunked\b/i.test(value);
  const hasChunks = !isChunkless && pairs.some(isChunked);
  return pairs.filter(([name]) => hasChunks || !isNamed(name, 'trailer')).flat();
}
