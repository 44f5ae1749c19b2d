/**
 * The HTTP client of the harness, the only way to the target. It records every request. It enforces
 * both spending limits before a byte is sent: the allowed recipients (`--allow-to`) and the budget
 * of sends (`--max-sends`). It retries after a broken connection, because a restart of the target
 * takes a second; a send that may have arrived, only if it has a `request_id`. A request without a
 * reply has `status` 0 and a `failure`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { valueIn } from '#judging/evidence/reading.ts';
import type { Outcome, Reply, RequestOptions } from '#judging/evidence/reply.ts';
import { type ConnectionSettings, Connections, isBroken, timedOut } from './connections.ts';
import type { Masks } from './masks.ts';

/** What a run measures and waits by. Tests pass a faster one, with a target that is equally fast. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Rejects if the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const wallClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => pause(Math.max(0, ms), undefined, signal === undefined ? {} : { signal }),
};

export interface ClientSettings extends ConnectionSettings {
  readonly timeoutMs: number;
  /** The budget of sends; undefined: no limit. */
  readonly maxSends?: number | undefined;
  /** Undefined: every recipient is allowed. */
  readonly allowTo?: readonly string[] | undefined;
  /** A sender number that no SIM has (`--unknown-from`). */
  readonly unknownFrom?: string | undefined;
  readonly masks: Masks;
  readonly clock?: Clock;
  /** False: broken connections are never retried. */
  readonly retries?: boolean;
}

/** The request would have sent a message to a recipient that is not allowed. */
export class RecipientBlocked extends Error {}

/** The budget of sends is used up. */
export class SendsExhausted extends Error {}

/** Matches the paths of the three send endpoints. */
const sendPath = /\/api(?:\/v1)?\/(?:sms|external)\/send\/?(?:\?|$)/;

/** After this many requests in a row that timed out, later ones wait only `shortPatienceMs`. */
const mostTimeoutsInARow = 3;
const shortPatienceMs = 1_000;
/** After this many requests in a row that failed in spite of all retries, later ones get no retry. */
const mostBrokenInARow = 3;
/** Pauses before each retry; together longer than a service needs to restart. */
const pausesMs = [100, 400, 1_000, 2_000, 2_500];
/** Retries, and the longest wait for a reply, once a request is known that is never answered. */
const retriesAfterSilence = 2;
const patienceAfterSilenceMs = 5_000;
/** Errors after which the target has received nothing: the connection was not established. */
const notConnected = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)\b/;

/** The header of a key or token; none without one. */
export function bearerHeader(secret: string | undefined): Readonly<Record<string, string>> {
  return secret === undefined ? {} : { authorization: `Bearer ${secret}` };
}

export class Client {
  readonly masks: Masks;
  readonly #settings: ClientSettings;
  readonly #connections: Connections;
  readonly #clock: Clock;
  /** Shows if this process was late: then the times of a reply prove nothing. */
  readonly lag = new Lag();
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
  /** True once a request is known that is never answered. */
  hasSeenSilence = false;
  /** True once the budget of sends has kept a request from being sent. */
  budgetReached = false;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.masks = settings.masks;
    this.#clock = settings.clock ?? wallClock;
    this.#connections = new Connections(settings);
  }

  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** Throws RecipientBlocked or SendsExhausted if a spending limit forbids the request. */
  async request(options: RequestOptions): Promise<Reply> {
    if (options.method === 'POST' && sendPath.test(options.path)) this.#spend(options.body ?? '');
    const started = performance.now();
    const sentAt = this.#clock.now();
    const outcome = await this.#attempt(options);
    const durationMs = Math.round((performance.now() - started) * 10) / 10;
    this.#timedOut = outcome.failure === timedOut ? this.#timedOut + 1 : 0;
    if (outcome.status === 429) this.throttled += 1;
    const exchange = this.masks.record(this.#settings.baseUrl, options, outcome, durationMs);
    const isLate = this.lag.isLateSince(started);
    const late = isLate ? { isLate } : {};
    return { ...outcome, ...late, exchange, sentAt, answeredAt: this.#clock.now() };
  }

  close(): void {
    this.lag.stop();
    this.#connections.close();
  }

  /** Checks both spending limits for a send with this body, and counts it. */
  #spend(body: string): void {
    const { allowTo, unknownFrom, maxSends } = this.#settings;
    if (allowTo !== undefined && !isToOneOf(allowTo, body, unknownFrom))
      throw new RecipientBlocked('the recipient is not in --allow-to');
    if (!this.#countSend()) throw new SendsExhausted(`the budget of ${maxSends} sends is spent`);
  }

  /** Counts one more send; false if the budget has none left. */
  #countSend(): boolean {
    const { maxSends = Number.POSITIVE_INFINITY } = this.#settings;
    const isLeft = this.sends < maxSends;
    if (isLeft) this.sends += 1;
    else this.budgetReached = true;
    return isLeft;
  }

  /** Sends the request, and again after each broken connection, as long as that is permitted. */
  async #attempt(options: RequestOptions): Promise<Outcome & { interruptions: number }> {
    const { retries, signal } = this.#settings;
    const isRetried =
      retries !== false && options.mayRetry !== false && this.#broken < mostBrokenInARow;
    const most = this.hasSeenSilence ? retriesAfterSilence : pausesMs.length;
    const pauses = isRetried ? pausesMs.slice(0, most) : [];
    let interruptions = 0;
    let outcome = await this.#attemptOnce(options);
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
      outcome = await this.#attemptOnce(options);
    }
    this.#broken = 0;
    return { ...outcome, interruptions };
  }

  #attemptOnce(options: RequestOptions): Promise<Outcome> {
    const { timeoutMs } = this.#settings;
    let patienceMs = this.hasSeenSilence ? patienceAfterSilenceMs : timeoutMs;
    if (this.#timedOut >= mostTimeoutsInARow) patienceMs = shortPatienceMs;
    return this.#connections.attempt(options, Math.min(timeoutMs, patienceMs));
  }

  /** True if the request may be repeated; counts another send if the first one may have arrived. */
  #spendAgain({ method, path, body = '' }: RequestOptions, failure: string): boolean {
    if (method !== 'POST' || notConnected.test(failure)) return true;
    return hasRequestId(body) && (!sendPath.test(path) || this.#countSend());
  }
}

function hasRequestId(body: string): boolean {
  const id: unknown = Object(valueIn(body)).request_id;
  return typeof id === 'string' && id !== '';
}

/** True if the body names one of these recipients, or surely has no recipient. If unsure, false. */
function isToOneOf(allowed: readonly string[], body: string, unknownFrom?: string): boolean {
  const parsed = valueIn(body);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    const [, ...named] = body.split('"to"');
    return !body.includes('to=') && named.every((rest) => isAllowed(allowed, textAfterColon(rest)));
  }
  const { to, from } = parsed as { readonly to?: unknown; readonly from?: unknown };
  const isUnsent = unknownFrom !== undefined && from === unknownFrom;
  return isAllowed(allowed, to) || (isUnsent && isNearlyAllowed(allowed, to));
}

/** The text value at the start of the rest of an object; `false`, which is no text, without one. */
function textAfterColon(rest: string): string | false {
  return /^\s*:\s*"([^"\\]*)"/.exec(rest)?.[1] ?? false;
}

/**
 * True for a `to` that names no recipient, or one or several of these. What stands between its plus
 * sign and its digits makes it no other number.
 */
export function isAllowed(allowed: readonly string[], to: unknown): boolean {
  if (to === undefined || to === null) return true;
  if (typeof to !== 'string') return false;
  if (!/\d/.test(to)) return true;
  return to.split(',').every((one) => allowed.includes(one.replace(/[^+\d]/g, '')));
}

/**
 * True for a `to` that is an allowed number with more or fewer digits at an end, as people dial it
 * or as text of another type. It could reach somebody else, so only a sender that no SIM has may
 * name it: such a message is not sent even by a service that takes the number.
 */
export function isNearlyAllowed(allowed: readonly string[], to: unknown): boolean {
  const digits = JSON.stringify(to).replace(/\D/g, '');
  return allowed.some((number) => {
    const right = number.replace(/\D/g, '');
    return digits.includes(right) || right.startsWith(digits) || right.endsWith(digits);
  });
}

/** The time between two checks whether this process is late. */
const checkEveryMs = 100;
/** A limit of 120 a minute regains two tokens in this time, so such a delay can change a verdict. */
const tooLateMs = 1_000;

/**
 * How late this process does its own work. On a machine that is too busy, requests leave and
 * replies are read later than the harness believes: what it measured meanwhile proves nothing about
 * a limit.
 */
class Lag {
  readonly #timer = setInterval(() => this.#check(), checkEveryMs).unref();
  #checkedAt = performance.now();
  #lateUntil = Number.NEGATIVE_INFINITY;
  /** How often the process stood still for a second or longer. */
  times = 0;
  longestMs = 0;

  /** True if the process stood still for a second or longer since then (`performance.now()`). */
  isLateSince(startedAt: number): boolean {
    this.#check();
    return this.#lateUntil >= startedAt;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    const lateMs = now - this.#checkedAt - checkEveryMs;
    this.#checkedAt = now;
    if (lateMs < tooLateMs) return;
    this.#lateUntil = now;
    this.times += 1;
    this.longestMs = Math.max(this.longestMs, lateMs);
  }
}
