/**
 * Counts requests by second of simulated time, endpoint and account, since the start or a reset. It
 * keeps the last seconds in which there were requests.
 */
import { type EndpointName, endpointNames } from '#contract/limits.ts';
import type { RecordedExchange } from './recorded-exchange.ts';

/** A series is the counts of one account in one second. Above this many, the oldest are dropped. */
export const mostSeries = 20_000;
/** The index of an endpoint in a series is that of its name; unknown paths come last. */
const endpointCount = endpointNames.length + 1;
/** For each endpoint, a series has the three counts of `SecondCount`, in the order there. */
const countsPerEndpoint = 3;

interface Second {
  readonly startMs: number;
  /** The series by account; undefined: requests that were not authenticated. */
  readonly counts: Map<string | undefined, Uint32Array>;
}

export interface SecondCount {
  readonly startMs: number;
  readonly accountId: string | undefined;
  readonly endpoint: EndpointName | undefined;
  readonly count: number;
  /** The requests answered 429. */
  readonly throttled: number;
  readonly spent: number;
}

export class RequestSeconds {
  #seconds: Second[] = [];
  #series = 0;

  add({ atMs, accountId, endpoint, status, hasSpent }: RecordedExchange): void {
    const startMs = atMs - (atMs % 1_000);
    let second = this.#seconds.at(-1);
    if (second?.startMs !== startMs) {
      second = { startMs, counts: new Map() };
      this.#seconds.push(second);
    }
    let counts = second.counts.get(accountId);
    if (counts === undefined) {
      counts = new Uint32Array(countsPerEndpoint * endpointCount);
      second.counts.set(accountId, counts);
      this.#series++;
      if (this.#series > mostSeries) this.#dropOlderHalf();
    }
    const endpointIndex =
      endpoint === undefined ? endpointCount - 1 : endpointNames.indexOf(endpoint);
    const index = countsPerEndpoint * endpointIndex;
    counts[index] = (counts[index] ?? 0) + 1;
    if (status === 429) counts[index + 1] = (counts[index + 1] ?? 0) + 1;
    if (hasSpent) counts[index + 2] = (counts[index + 2] ?? 0) + 1;
  }

  clear(): void {
    this.#seconds = [];
    this.#series = 0;
  }

  *[Symbol.iterator](): Generator<SecondCount> {
    for (const { startMs, counts } of this.#seconds) {
      for (const [accountId, series] of counts) {
        for (let index = 0; index < endpointCount; index++) {
          const start = countsPerEndpoint * index;
          const count = series[start] ?? 0;
          if (count === 0) continue;
          const throttled = series[start + 1] ?? 0;
          const spent = series[start + 2] ?? 0;
          yield { startMs, accountId, endpoint: endpointNames[index], count, throttled, spent };
        }
      }
    }
  }

  /** Drops many at a time, so that dropping is rare. */
  #dropOlderHalf(): void {
    this.#seconds = this.#seconds.slice(Math.ceil(this.#seconds.length / 2));
    this.#series = this.#seconds.reduce((sum, { counts }) => sum + counts.size, 0);
  }
}
