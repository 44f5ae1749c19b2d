/**
 * The HTTP client of the harness, and the only way to the target. It records every request. Replies
 * are bounded in time, size and nesting; one that exceeds a bound is `unusable`.
 * It enforces both spending limits before a byte is sent: it never sends to a recipient that is not
 * allowed (`--allow-to`), and never exceeds the budget of sends (`--max-sends`).
 * After a broken connection it retries, because a restart of the target takes a second. It repeats
 * a send that may have arrived only if the send has a `request_id`. A request without a reply has
 * `status` 0 and a `failure`.
 */
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions as NodeRequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { endpointOf } from './buckets.ts';
import { type Clock, wallClock } from './clock.ts';
import type { Exchange, Masks } from './exchange.ts';
import { bodyOf, type KeptBodies, mostKeptBytes, parse } from './kept-bodies.ts';

export interface Reply {
  /** 0 if no usable reply came. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body, to compare bodies byte for byte without keeping their bytes. */
  readonly digest: string;
  readonly text: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
  /** The reason if no usable reply came. */
  readonly failure?: string;
  /** True if a reply came, but exceeded a bound. */
  readonly unusable?: boolean;
  /** How often the connection broke. Each time, the request may have arrived or not. */
  readonly interruptions: number;
  /** Milliseconds in the run's clock, as `answeredAt`. */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The request and its reply, as reports show them. */
  readonly exchange: Exchange;
}

export interface RequestOptions {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The local address to call from, for limits by client IP. */
  readonly localAddress?: string;
  /** False: a broken connection is not retried. */
  readonly retried?: boolean;
}

export interface ClientSettings {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** The budget of sends; undefined: no limit. */
  readonly maxSends?: number | undefined;
  /** Undefined: every recipient is allowed. */
  readonly allowTo?: readonly string[] | undefined;
  readonly masks: Masks;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** False: broken connections are never retried. */
  readonly retries?: boolean;
  /** The largest body that is read. */
  readonly maxBodyBytes?: number;
  /** Set if all replies are kept until the end of the run. */
  readonly bodies?: KeptBodies;
}

/** The request would have sent a message to a recipient that is not allowed. */
export class RecipientBlocked extends Error {}

/** The budget of sends is used up. */
export class SendsExhausted extends Error {}

/** The paths of the three send endpoints. */
const sendPaths = /\/api(?:\/v1)?\/(?:sms|external)\/send\/?(?:\?|$)/;

/** A run keeps most replies in memory. Only the list of received messages is long. */
const maxBodyBytes = 131_072;
const maxListBytes = 1_048_576;
const maxHeaderBytes = 65_536;
/** The deepest JSON of the service has three levels. */
const maxNesting = 64;

/**
 * Idle connections are closed after this time. Many servers close them after five seconds; a
 * request that crosses such a close has to be repeated, and proves less.
 */
const longestIdleMs = 3_000;
const timedOut = 'timed out';
/** After this many requests in a row that timed out, later ones wait only `shortPatienceMs`. */
const mostTimeoutsInARow = 3;
const shortPatienceMs = 1_000;
/** After this many in a row that failed in spite of all retries, later ones are not retried. */
const mostBrokenInARow = 3;
/** Pauses before each retry; together longer than a service needs to restart. */
const pausesMs = [100, 400, 1_000, 2_000, 2_500];
/** Errors after which the target has received nothing: the connection was not established. */
const notConnected = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** A reply, a timeout or an exceeded bound is final; only a broken connection is retried. */
function isBroken(outcome: Outcome): outcome is Outcome & { readonly failure: string } {
  const { failure, unusable } = outcome;
  return failure !== undefined && failure !== timedOut && unusable !== true;
}

export class Client {
  readonly masks: Masks;
  readonly #settings: ClientSettings;
  readonly #base: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #clock: Clock;
  /** Consecutive requests that timed out. */
  #timedOut = 0;
  /** Consecutive requests that failed in spite of all retries. */
  #broken = 0;
  /** Requests to the three send endpoints so far. */
  sends = 0;
  /** Replies of 429 so far. */
  throttled = 0;
  /** The number of broken connections, by error. */
  readonly interruptions = new Map<string, number>();
  /** True once the budget of sends has kept a request from being sent. */
  budgetReached = false;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.masks = settings.masks;
    this.#clock = settings.clock ?? wallClock;
    this.#base = new URL(settings.baseUrl);
    const options = {
      keepAlive: true,
      maxSockets: 64,
      scheduling: 'lifo' as const,
      timeout: longestIdleMs,
    };
    this.#agent =
      this.#base.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  }

  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** Throws RecipientBlocked or SendsExhausted if a spending limit forbids the request. */
  async request(options: RequestOptions): Promise<Reply> {
    if (options.method === 'POST' && sendPaths.test(options.path)) this.#spend(options.body ?? '');
    const started = performance.now();
    const sentAt = this.#clock.now();
    const outcome = await this.#attempt(options);
    const durationMs = Math.round((performance.now() - started) * 10) / 10;
    this.#timedOut = outcome.failure === timedOut ? this.#timedOut + 1 : 0;
    if (outcome.status === 429) this.throttled += 1;
    const exchange = this.masks.record(this.#settings.baseUrl, options, outcome, durationMs);
    return { ...outcome, exchange, sentAt, answeredAt: this.#clock.now() };
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Checks both spending limits for a send with this body, and counts it. */
  #spend(body: string): void {
    const { allowTo, maxSends } = this.#settings;
    if (allowTo !== undefined && !isToOneOf(allowTo, body))
      throw new RecipientBlocked('the recipient is not in --allow-to');
    if (maxSends !== undefined && this.sends >= maxSends) {
      this.budgetReached = true;
      throw new SendsExhausted(`the budget of ${maxSends} sends is spent`);
    }
    this.sends += 1;
  }

  /** Sends the request, and again after each broken connection, as long as that is permitted. */
  async #attempt(options: RequestOptions): Promise<Outcome & { interruptions: number }> {
    const { retries, signal } = this.#settings;
    const isRetried =
      retries !== false && options.retried !== false && this.#broken < mostBrokenInARow;
    const pauses = isRetried ? pausesMs : [];
    let interruptions = 0;
    let outcome = await this.#once(options);
    while (isBroken(outcome) && !signal?.aborted) {
      const { failure } = outcome;
      this.interruptions.set(failure, (this.interruptions.get(failure) ?? 0) + 1);
      const pauseMs = pauses[interruptions];
      interruptions += 1;
      if (pauseMs === undefined) {
        this.#broken += 1;
        return { ...outcome, interruptions };
      }
      if (!this.#spendAgain(options, failure)) return { ...outcome, interruptions };
      await this.#clock.sleep(pauseMs, signal).catch(() => {});
      outcome = await this.#once(options);
    }
    this.#broken = 0;
    return { ...outcome, interruptions };
  }

  /** True if the request may be repeated; counts another send if the first one may have arrived. */
  #spendAgain({ method, path, body = '' }: RequestOptions, failure: string): boolean {
    if (method !== 'POST' || notConnected.has(failure)) return true;
    if (!hasRequestId(body)) return false;
    if (!sendPaths.test(path)) return true;
    const { maxSends = Number.POSITIVE_INFINITY } = this.#settings;
    if (this.sends >= maxSends) {
      this.budgetReached = true;
      return false;
    }
    this.sends += 1;
    return true;
  }

  /** One attempt. Never rejects: whatever goes wrong is a `failure`. */
  #once(options: RequestOptions): Promise<Outcome> {
    const { timeoutMs } = this.#settings;
    const isPatient = this.#timedOut < mostTimeoutsInARow;
    const patienceMs = isPatient ? timeoutMs : Math.min(timeoutMs, shortPatienceMs);
    const isList = endpointOf(options.path) === 'received';
    const bodyLimit = this.#settings.maxBodyBytes ?? (isList ? maxListBytes : maxBodyBytes);
    return new Promise((resolve) => {
      const send = this.#base.protocol === 'https:' ? httpsRequest : httpRequest;
      const failed = (failure: string) => resolve({ ...noReply, failure });
      const exceeded = (failure: string) => resolve({ ...noReply, failure, unusable: true });
      const request = send(this.#optionsOf(options), (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size <= bodyLimit) {
            chunks.push(chunk);
            return;
          }
          exceeded(`${response.statusCode ?? 0} with a body of more than ${bodyLimit} bytes`);
          request.destroy();
        });
        response.on('error', (error) => failed(`the reply broke off: ${error.message}`));
        response.on('end', () => resolve(this.#outcome(response, Buffer.concat(chunks))));
      });
      const timer = setTimeout(() => {
        failed(timedOut);
        request.destroy();
      }, patienceMs);
      request.on('close', () => clearTimeout(timer));
      request.on('error', ({ code, message }: NodeJS.ErrnoException) => {
        if (code === 'HPE_HEADER_OVERFLOW')
          exceeded(`headers of more than ${maxHeaderBytes} bytes`);
        else failed(code ?? message);
      });
      request.end(options.body);
    });
  }

  #optionsOf({ method, path, headers, body, localAddress }: RequestOptions): NodeRequestOptions {
    const { protocol, hostname, port, pathname } = this.#base;
    const { signal } = this.#settings;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    return {
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path: pathname.replace(/\/$/, '') + sendable(path),
      headers: { ...headers, ...length },
      maxHeaderSize: maxHeaderBytes,
      agent: localAddress === undefined ? this.#agent : false,
      ...(localAddress === undefined ? {} : { localAddress }),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  /** The outcome of a reply that has arrived. */
  #outcome(response: IncomingMessage, bytes: Buffer): Outcome {
    const status = response.statusCode ?? 0;
    const unusable = (failure: string) => ({ ...noReply, failure, unusable: true });
    if (isDeeplyNested(bytes.toString('latin1')))
      return unusable(`${status} with a body that nests deeper than ${maxNesting} levels`);
    const { bodies } = this.#settings;
    const body = bodies === undefined ? bodyOf(bytes) : bodies.of(bytes);
    if (body === undefined)
      return unusable(
        `${status} with ${bytes.length} bytes, after long replies of ${mostKeptBytes} bytes together`,
      );
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(response.headers))
      if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
    return { status, headers, ...body };
  }
}

type Outcome = Omit<Reply, 'interruptions' | 'sentAt' | 'answeredAt' | 'exchange'>;

const noReply = { status: 0, headers: {}, digest: '', text: '', json: undefined };

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

function hasRequestId(body: string): boolean {
  const id: unknown = Object(parse(body)).request_id;
  return typeof id === 'string' && id !== '';
}

/** True if the body names one of these recipients, or surely has no recipient. If unsure, false. */
function isToOneOf(allowed: readonly string[], body: string): boolean {
  const parsed = parse(body);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return !body.includes('"to"') && !body.includes('to=');
  const { to } = parsed as { readonly to?: unknown };
  return to === undefined || (typeof to === 'string' && allowed.includes(to));
}
