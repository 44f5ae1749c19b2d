/**
 * The limited endpoints, and a ledger of this run's requests to each within the last minute.
 * Rules: LIMIT-1 to LIMIT-5, AUTH-6. Without a control port all cases share one account, so the run
 * counts its own requests. If it sends at most the limit within any 60 s, every request fits under
 * every answer of `limiterRefill`.
 */
export const limits = {
  send: 120,
  dashboard_send: 120,
  external_send: 120,
  received: 120,
  tasks: 60,
} as const;

export type Endpoint = keyof typeof limits;

/** A bucket of the run's own account, or of its address for the list of received messages. */
export type Bucket = Endpoint | 'address';

/** Requests to each bucket. */
export type Spends = Readonly<Partial<Record<Bucket, number>>>;

export const minuteMs = 60_000;

const paths: readonly (readonly [Endpoint, RegExp])[] = [
  ['send', /^\/api\/v1\/sms\/send\/?$/],
  ['dashboard_send', /^\/api\/sms\/send\/?$/],
  ['external_send', /^\/api\/external\/send\/?$/],
  ['received', /^\/api\/v1\/sms\/received\/?$/],
  ['tasks', /^\/api\/devices\/[^/]+\/tasks\/?$/],
];

/** The limited endpoint of a path; undefined for reads, statistics and undocumented paths. */
export function endpointOf(path: string): Endpoint | undefined {
  const [plain = ''] = path.split('?');
  return paths.find(([, pattern]) => pattern.test(plain))?.[0];
}

export function limitOf(bucket: Bucket): number {
  return bucket === 'address' ? limits.received : limits[bucket];
}

/** What a request did to its bucket. */
export type Usage = 'passed' | 'replayed' | 'refused' | 'throttled';

/** Requests to one bucket within the last minute. */
export interface Spent {
  readonly passed: number;
  readonly replayed: number;
  /** Answered with an error other than 429. */
  readonly refused: number;
  readonly throttled: number;
  /** When each of them was sent and answered: its token was spent in between. */
  readonly times: readonly Span[];
}

/** A request's time, in the run's clock. */
export interface Span {
  readonly sentAt: number;
  readonly answeredAt: number;
}

interface Entry {
  readonly at: number;
  readonly sentAt: number;
  readonly kind: Usage;
}

export class BucketLedger {
  /** The ids of the messages queued by the run's own account, in order. */
  readonly accepted: string[] = [];
  readonly #entries = new Map<Bucket, Entry[]>();

  note(bucket: Bucket, at: number, kind: Usage, sentAt = at): void {
    const entries = this.#recent(bucket, at);
    entries.push({ at, sentAt, kind });
    this.#entries.set(bucket, entries);
  }

  spent(bucket: Bucket, now: number): Spent {
    const spent = { passed: 0, replayed: 0, refused: 0, throttled: 0 };
    const entries = this.#recent(bucket, now);
    for (const { kind } of entries) spent[kind] += 1;
    return { ...spent, times: entries.map(({ at, sentAt }) => ({ sentAt, answeredAt: at })) };
  }

  /** Milliseconds to wait until `count` requests fit. */
  waitFor(bucket: Bucket, count: number, now: number): number {
    const entries = this.#recent(bucket, now);
    const excess = entries.length + count - limitOf(bucket);
    if (excess <= 0) return 0;
    const last = entries[Math.min(excess, entries.length) - 1];
    return last === undefined ? 0 : Math.max(1, last.at + windowMs - now);
  }

  /**
   * Milliseconds until the last minute holds nothing but a few successes; 0: the rest of the bucket
   * is known.
   */
  waitForQuiet(bucket: Bucket, now: number): number {
    const entries = this.#recent(bucket, now);
    const unclear = entries.filter(({ kind }) => kind !== 'passed');
    const last = unclear.at(-1) ?? (entries.length > fewSuccesses ? entries.at(-1) : undefined);
    return last === undefined ? 0 : Math.max(1, last.at + windowMs - now);
  }

  #recent(bucket: Bucket, now: number): Entry[] {
    const entries = this.#entries.get(bucket) ?? [];
    const from = entries.findIndex(({ at }) => at > now - windowMs);
    return from < 0 ? [] : entries.slice(from);
  }
}

/** A minute, plus a second for requests in flight. */
const windowMs = minuteMs + 1_000;
const fewSuccesses = 30;
