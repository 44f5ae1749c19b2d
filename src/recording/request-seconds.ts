/**
 * Counts requests by second of simulated time, endpoint and account, since the start or a reset. It
 * keeps the last seconds in which there were requests.
 */
import { type EndpointName, endpointNames } from '../sim/limits.ts';
import type { RecordedExchange } from './recorded-exchange.ts';

/** Counts of one account in one second; the oldest seconds are dropped above it. */
export const mostSeries = 20_000;
/** The unknown path comes last. */
const places = endpointNames.length + 1;

interface Second {
  readonly startMs: number;
  /** By account; undefined: not authenticated. For each endpoint, all and those answered 429. */
  readonly counts: Map<string | undefined, Uint32Array>;
}

export interface SecondCount {
  readonly startMs: number;
  readonly accountId: string | undefined;
  readonly endpoint: EndpointName | undefined;
  readonly count: number;
  readonly throttled: number;
}

export class RequestSeconds {
  #seconds: Second[] = [];
  #series = 0;

  add({ atMs, accountId, endpoint, status }: RecordedExchange): void {
    const startMs = atMs - (atMs % 1_000);
    let second = this.#seconds.at(-1);
    if (second?.startMs !== startMs) {
      second = { startMs, counts: new Map() };
      this.#seconds.push(second);
    }
    let counts = second.counts.get(accountId);
    if (counts === undefined) {
      counts = new Uint32Array(2 * places);
      second.counts.set(accountId, counts);
      if (++this.#series > mostSeries) this.#drop();
    }
    const place = 2 * (endpoint === undefined ? places - 1 : endpointNames.indexOf(endpoint));
    counts[place] = (counts[place] ?? 0) + 1;
    if (status === 429) counts[place + 1] = (counts[place + 1] ?? 0) + 1;
  }

  clear(): void {
    this.#seconds = [];
    this.#series = 0;
  }

  *[Symbol.iterator](): Generator<SecondCount> {
    for (const { startMs, counts } of this.#seconds) {
      for (const [accountId, all] of counts) {
        for (let place = 0; place < places; place++) {
          const count = all[2 * place] ?? 0;
          if (count === 0) continue;
          const throttled = all[2 * place + 1] ?? 0;
          yield { startMs, accountId, endpoint: endpointNames[place], count, throttled };
        }
      }
    }
  }

  /** Drops the older half, so that this is rare. */
  #drop(): void {
    this.#seconds = this.#seconds.slice(Math.ceil(this.#seconds.length / 2));
    this.#series = this.#seconds.reduce((sum, { counts }) => sum + counts.size, 0);
  }
}
