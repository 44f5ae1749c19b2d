/**
 * The connections of the harness to the target: one attempt at a request, without a retry. Replies
 * are bounded in time, nesting and size, also together; one that exceeds a bound is `isUnusable`.
 */
import { createHash } from 'node:crypto';
import {
  ClientRequest,
  type Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions as NodeRequestOptions,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { servicePaths } from '#contract/routes.ts';
import { WayOut } from '#io/way-out.ts';
import { valueIn } from '#judging/evidence/reading.ts';
import type { Outcome, RequestOptions } from '#judging/evidence/reply.ts';

export interface ConnectionSettings {
  readonly baseUrl: string;
  readonly signal?: AbortSignal;
  /** The largest body that is read. */
  readonly maxBodyBytes?: number;
  /** Set if all replies are kept until the end of the run. */
  readonly bodies?: KeptBodies;
  /** Headers of every request, for a gateway in front of the service. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The longest body that is read, as a run keeps most replies in memory. */
const maxBodyBytes = 131_072;
/** The longest list of received messages, the only long reply of the service. */
const maxListBytes = 1_048_576;
const maxHeaderBytes = 65_536;
/** The deepest JSON of the service has three levels. */
const maxNesting = 64;

/**
 * Idle connections are closed after this time. Many servers close them after five seconds; a
 * request that crosses such a close has to be repeated, and proves less.
 */
const longestIdleMs = 3_000;
/** The failure of an attempt whose reply did not come in time. */
export const timedOut = 'timed out';

/** A reply, a timeout or an exceeded bound is final; only a broken connection is retried. */
export function isBroken(outcome: Outcome): outcome is Outcome & { readonly failure: string } {
  const { failure, isUnusable } = outcome;
  return failure !== undefined && failure !== timedOut && isUnusable !== true;
}

/** True if no reply came, or not in time; not for a reply that exceeded a bound. */
export function isUnanswered(outcome: Outcome): boolean {
  return isBroken(outcome) || outcome.failure === timedOut;
}

export class Connections {
  readonly #settings: ConnectionSettings;
  readonly #base: URL;
  readonly #way: WayOut;
  readonly #agent: HttpAgent;
  readonly #idleSince = new WeakMap<Duplex, number>();
  #longestIdleMs = longestIdleMs;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#base = new URL(settings.baseUrl);
    this.#way = new WayOut(this.#base);
    this.#agent = this.#way.agent({
      keepAlive: true,
      maxSockets: 64,
      scheduling: 'lifo',
      timeout: longestIdleMs,
    });
    this.#agent.on('free', (socket: Duplex) => this.#idleSince.set(socket, performance.now()));
  }

  close(): void {
    this.#agent.destroy();
  }

  /** One attempt. Never rejects: whatever goes wrong is a `failure`. */
  attempt(options: RequestOptions, patienceMs: number): Promise<Outcome> {
    const isList = options.path.startsWith(servicePaths.received);
    const bodyLimit = this.#settings.maxBodyBytes ?? (isList ? maxListBytes : maxBodyBytes);
    this.#closeIdle();
    return new Promise((resolve) => {
      const failed = (failure: string) => resolve({ ...noReply, failure });
      const exceeded = (failure: string) => resolve({ ...noReply, failure, isUnusable: true });
      const request = new ClientRequest(this.#optionsOf(options), (response) => {
        const refusal = this.#way.refusal(response.statusCode);
        if (refusal !== undefined) failed(refusal);
        response.on('error', (error) => failed(`the reply broke off: ${error.message}`));
        collect(response, bodyLimit, (collected) => {
          const bytes = collected && decoded(response, collected, bodyLimit);
          if (bytes !== undefined) resolve(this.#outcome(response, bytes));
          else {
            exceeded(`${response.statusCode ?? 0} with a body of more than ${bodyLimit} bytes`);
            request.destroy();
          }
        });
      });
      const timer = setTimeout(() => {
        failed(timedOut);
        request.destroy();
      }, patienceMs);
      request.on('close', () => clearTimeout(timer));
      request.on('error', ({ code, message }: NodeJS.ErrnoException) => {
        if (code === 'HPE_HEADER_OVERFLOW')
          exceeded(`headers of more than ${maxHeaderBytes} bytes`);
        else failed(this.#way.reason(code ?? message));
      });
      request.end(options.body);
    });
  }

  /**
   * Closes connections that were idle for too long: on a busy machine the timer that should have
   * closed them comes late, and a request would cross the close of the server.
   */
  #closeIdle(): void {
    const now = performance.now();
    for (const socket of Object.values(this.#agent.freeSockets).flatMap((free) => free ?? []))
      if (now - (this.#idleSince.get(socket) ?? now) > this.#longestIdleMs) socket.destroy();
  }

  #optionsOf({ method, path, headers, body, localAddress }: RequestOptions): NodeRequestOptions {
    const { signal, headers: ofGateway } = this.#settings;
    const isWhole = body !== undefined && headers?.['transfer-encoding'] === undefined;
    const length = isWhole ? { 'content-length': String(Buffer.byteLength(body)) } : {};
    const way = this.#way.request(this.#base.pathname.replace(/\/$/, '') + sendable(path));
    return {
      ...way,
      method,
      headers: { ...ofGateway, host: this.#base.host, ...headers, ...length, ...way.headers },
      maxHeaderSize: maxHeaderBytes,
      agent: localAddress === undefined ? this.#agent : this.#way.agent({}),
      ...(localAddress === undefined ? {} : { localAddress }),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  /** The outcome of a reply that has arrived. */
  #outcome(response: IncomingMessage, bytes: Buffer): Outcome {
    const status = response.statusCode ?? 0;
    const unusable = (failure: string) => ({ ...noReply, failure, isUnusable: true });
    if (isDeeplyNested(bytes.toString('latin1')))
      return unusable(`${status} with a body that nests deeper than ${maxNesting} levels`);
    const { bodies } = this.#settings;
    const body = bodies === undefined ? bodyOf(bytes) : bodies.of(bytes);
    if (body === undefined) {
      return unusable(
        `${status} with ${bytes.length} bytes, after long replies of ${mostKeptBytes} bytes together`,
      );
    }
    const headers: Record<string, string> = {};
    // Node keeps only the first of two `Retry-After`; two that differ say nothing.
    for (const [name, values] of Object.entries(response.headersDistinct))
      headers[name] = [...new Set(values)].join(', ');
    // Half of what the server announces, because its time began when it sent the reply.
    const announcedSeconds = Number(/timeout=(\d+)/.exec(headers['keep-alive'] ?? '')?.[1]);
    const safeIdleMs = (announcedSeconds * 1_000) / 2;
    if (safeIdleMs < this.#longestIdleMs) this.#longestIdleMs = safeIdleMs;
    return { status, headers, ...body };
  }
}

/** The outcome of a request that has no reply. */
export const noReply = { status: 0, headers: {}, digest: '', text: '', json: undefined };

/** True if brackets outside strings nest deeper than any reply of the service. */
function isDeeplyNested(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isInString && character === '\\') index += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && (character === '[' || character === '{')) depth += 1;
    else if (!isInString && (character === ']' || character === '}')) depth -= 1;
    if (depth > maxNesting) return true;
  }
  return false;
}

/** Escapes what a request line cannot carry: an id may come from the target. */
function sendable(path: string): string {
  return path.replace(/\p{Surrogate}/gu, '\ufffd').replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** Calls `onBody` with the whole body, or with undefined as soon as it exceeds the limit. */
function collect(
  response: IncomingMessage,
  limit: number,
  onBody: (bytes: Buffer | undefined) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else onBody(undefined);
  });
  response.on('end', () => onBody(Buffer.concat(chunks)));
}

/**
 * The body as it was before the server compressed it, which some requests ask for. Undefined if it
 * is larger than the limit; a body that is not compressed as its header says stays as it is.
 */
function decoded(
  { headers }: IncomingMessage,
  bytes: Buffer,
  maxOutputLength: number,
): Buffer | undefined {
  if (!/^(?:x-)?gzip$/i.test(headers['content-encoding'] ?? '') || bytes.length === 0) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? undefined : bytes;
  }
}

interface Body {
  /** The SHA-256 of the bytes, for comparison byte for byte. */
  readonly digest: string;
  readonly text: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

/** A body with more bytes is long. Most replies of the service have some hundred. */
const longBytes = 4_096;
/** The most bytes of all long bodies together. A list of received messages has up to a mebibyte. */
export const mostKeptBytes = 33_554_432;

/**
 * Keeps the bodies of a run's replies, because judges look at all of them. To bound the memory, it
 * keeps equal long bodies once, and a limited total of long ones.
 */
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

function bodyOf(bytes: Buffer): Body {
  const text = bytes.toString('utf8');
  return { digest: digestOf(bytes), text, json: valueIn(text) };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}
