/**
 * The requests of one audit: it paces and counts them, keeps their exchanges, and stops when the
 * budget or the time is used up. It never sends a request again.
 */
import { inspect } from 'node:util';
import type { Decision } from '#judging/limiter/space/decision.ts';

/** Headers of a request or reply, by name in lower case. */
export type Headers = Readonly<Record<string, string>>;

/** What a request stands for. */
export interface Subject {
  /** Who asks, such as `caller-1`; the first one is asked most. */
  readonly caller: string;
  /** The path and query, or what stands for it. */
  readonly path: string;
}

export function isSameSubject(one: Subject, other: Subject): boolean {
  return one.caller === other.caller && one.path === other.path;
}

/** What a request was answered. */
export interface Reply {
  /** 0: no whole reply came. */
  readonly status: number;
  /** Names in any case, also as the `headers` of a `Response`. */
  readonly headers?: Headers | Iterable<readonly [name: string, value: string]>;
}

/** A request and its reply, with their times since the audit began. */
export interface AuditedExchange extends Subject {
  /** 0: no whole reply came. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
  /** From 1 on, in the order of sending. */
  readonly number: number;
  /** Since the audit began. */
  readonly sentAtMs: number;
  /** Since the audit began. */
  readonly answeredAtMs: number;
  /** Milliseconds since 1970, by the audit's clock. */
  readonly answeredAt: number;
  /** `passed`: also an error that is no refusal. `broken`: no whole reply. */
  readonly outcome: 'passed' | 'refused' | 'broken';
}

interface RunSettings {
  readonly request: (subject: Subject) => Promise<Reply>;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly refused: readonly number[];
  readonly budget: number;
  /** The shortest time between two requests. */
  readonly paceMs: number;
  readonly timeoutMs: number;
  readonly onProgress?:
    | ((exchanges: readonly AuditedExchange[], doing: string) => void)
    | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Why an audit ended before all was learned. */
export type StopReason = 'budget' | 'time' | 'errors' | 'not_reachable' | 'interrupted';

/** Ends an audit early; what was learned so far counts. */
export class Stopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(reason);
    this.reason = reason;
  }
}

/** After this many server errors or broken connections in a row, the audit stops. */
const mostErrorsInARow = 5;
/** The number of replies that show how long the next ones take. */
const latestReplies = 15;
/** A burst after as many paces without a request begins with this many requests at once. */
const firstTogether = 3;
/**
 * A limiter's clock ticks in whole milliseconds, and limiters differ whether the end of a window
 * belongs to it.
 */
export const tickMs = 1;

export class Run {
  readonly exchanges: AuditedExchange[] = [];
  readonly settings: RunSettings;
  readonly #startedAt: number;
  #errorsInARow = 0;
  #inBurst = 0;
  #doing = '';

  constructor(settings: RunSettings) {
    this.settings = settings;
    this.#startedAt = settings.now();
  }

  /** Time since the audit began. */
  now(): number {
    return this.settings.now() - this.#startedAt;
  }

  get requests(): number {
    return this.exchanges.length;
  }

  /** How long the latest replies took: the median. */
  get replyMs(): number {
    return quantile(0.5, this.exchanges.slice(-latestReplies).map(tookMs));
  }

  /** Says what the next requests are for. */
  doing(what: string): void {
    this.#doing = what;
    this.settings.onProgress?.(this.exchanges, what);
  }

  /** Sends a request at the audit's pace. Ends the audit after too many errors in a row. */
  async ask(subject: Subject): Promise<AuditedExchange> {
    const { paceMs } = this.settings;
    const last = this.exchanges.at(-1)?.sentAtMs ?? Number.NEGATIVE_INFINITY;
    // The first ones follow each other closely: at an even pace, short windows explain everything.
    const isNew = this.now() - last >= firstTogether * paceMs;
    this.#inBurst = isNew ? 1 : this.#inBurst + 1;
    if (this.#inBurst > firstTogether) await this.until(last + paceMs);
    const exchange = await this.#send(subject);
    this.#noteErrors(exchange);
    return exchange;
  }

  /** Sends requests at the same time, so their order of arrival is not known. */
  async race(subject: Subject, count: number): Promise<readonly AuditedExchange[]> {
    return Promise.all(Array.from({ length: count }, () => this.#send(subject)));
  }

  /** Waits until a time since the audit began. Ends the audit if that is after its timeout. */
  async until(atMs: number): Promise<void> {
    const { timeoutMs, signal, sleep } = this.settings;
    if (atMs > timeoutMs) throw new Stopped('time');
    const waitMs = atMs - this.now();
    if (waitMs > 0) await sleep(waitMs);
    if (signal?.aborted) throw new Stopped('interrupted');
  }

  async #send(subject: Subject): Promise<AuditedExchange> {
    const { budget, timeoutMs, request, refused, signal } = this.settings;
    if (signal?.aborted) throw new Stopped('interrupted');
    if (this.requests >= budget) throw new Stopped('budget');
    if (this.now() > timeoutMs) throw new Stopped('time');
    const number = this.requests + 1;
    const sentAtMs = this.now();
    const pending: AuditedExchange = {
      ...subject,
      number,
      sentAtMs,
      answeredAtMs: sentAtMs,
      status: 0,
      headers: {},
      answeredAt: 0,
      outcome: 'broken',
    };
    // Listed before its reply, so that requests in flight count towards the budget.
    this.exchanges.push(pending);
    const { status, headers } = readReply(await request(subject));
    const answer = refused.includes(status) ? 'refused' : 'passed';
    const outcome = status === 0 ? 'broken' : answer;
    const answeredAt = this.settings.now();
    const answeredAtMs = answeredAt - this.#startedAt;
    const exchange: AuditedExchange = {
      ...pending,
      answeredAtMs,
      answeredAt,
      status,
      headers,
      outcome,
    };
    this.exchanges[number - 1] = exchange;
    this.settings.onProgress?.(this.exchanges, this.#doing);
    return exchange;
  }

  #noteErrors({ status, outcome, number }: AuditedExchange): void {
    if (status === 0 && number === 1) throw new Stopped('not_reachable');
    const isError = status === 0 || (status >= 500 && outcome === 'passed');
    this.#errorsInARow = isError ? this.#errorsInARow + 1 : 0;
    if (this.#errorsInARow >= mostErrorsInARow) throw new Stopped('errors');
  }
}

/** The reply with headers in lower case. Throws a TypeError for what is no reply. */
function readReply(reply: Reply): Pick<AuditedExchange, 'status' | 'headers'> {
  if (typeof reply?.status !== 'number') {
    const got = inspect(reply, { depth: 0, breakLength: Number.POSITIVE_INFINITY });
    throw new TypeError(
      `audit: request must return { status, headers? } with a number as status, but got ${got}`,
    );
  }
  const { status, headers = {} } = reply;
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  return {
    status,
    headers: Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value])),
  };
}

/** From the start of a request to its reply. */
export function tookMs({ sentAtMs, answeredAtMs }: AuditedExchange): number {
  return answeredAtMs - sentAtMs;
}

/** The number that is greater than this share of the others; 0 if there is none. */
export function quantile(share: number, numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * sorted.length)] ?? 0;
}

/** What a limiter decided about a request, as far as its times tell. */
export function decisionOf({ sentAtMs, answeredAtMs, outcome }: AuditedExchange): Decision {
  return {
    from: sentAtMs - tickMs,
    to: answeredAtMs + tickMs,
    passed: outcome === 'passed',
    count: 1,
  };
}

/** In the order of their replies: if a window ends meanwhile, passes can follow a refusal. */
export function decisionsAtOnce(exchanges: readonly AuditedExchange[]): Decision[] {
  let from = Number.POSITIVE_INFINITY;
  const decisions = inOrderOfReplies(exchanges).map(decisionOf);
  for (const [i, each] of [...decisions.entries()].toReversed()) {
    from = Math.min(from, each.from);
    decisions[i] = { ...each, from };
  }
  return decisions;
}

/** Those that the limiter has decided. */
export function inOrderOfReplies(
  exchanges: readonly AuditedExchange[],
): readonly AuditedExchange[] {
  return exchanges
    .filter(({ outcome }) => outcome !== 'broken')
    .toSorted((one, other) => one.answeredAtMs - other.answeredAtMs);
}
