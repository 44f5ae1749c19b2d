/**
 * Counts requests to the service by endpoint and status, with their durations. The hot path only
 * adds numbers; labels and texts are made when the metrics are read.
 */

import { type EndpointName, endpointNames } from '../../sim/limits.ts';
import { Histogram } from '../../sim/message-counts.ts';

/** `unknown`: a path that the service does not have. */
export type CountedEndpoint = EndpointName | 'unknown';

/** In milliseconds: most requests take some microseconds. */
const durationBoundsMs = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 25, 50, 100, 250, 1_000],
];

export interface StatusCount {
  readonly endpoint: CountedEndpoint;
  readonly status: number;
  readonly count: number;
}

class EndpointCounts {
  readonly answered = new Map<number, number>();
  /** Of requests that the transport answered itself, before they reached the service. */
  readonly refused = new Map<number, number>();
  readonly durationsMs = new Histogram(durationBoundsMs);
}

export class RequestCounts {
  readonly #endpoints: Partial<Record<CountedEndpoint, EndpointCounts>> = {};

  /** Counts a request that the service answered. */
  answered(endpoint: EndpointName | undefined, status: number, tookMs: number): void {
    const { answered, durationsMs } = this.#of(endpoint);
    answered.set(status, (answered.get(status) ?? 0) + 1);
    durationsMs.observe(tookMs);
  }

  /** Counts a request that the transport answered itself, before it reached the service. */
  refused(endpoint: EndpointName | undefined, status: number): void {
    const { refused } = this.#of(endpoint);
    refused.set(status, (refused.get(status) ?? 0) + 1);
  }

  /** Every endpoint with the statuses that have occurred, in ascending order. */
  *byStatus(): Iterable<StatusCount> {
    for (const [endpoint, { answered, refused }] of this.#entries()) {
      for (const status of inOrder([...answered.keys(), ...refused.keys()])) {
        yield { endpoint, status, count: (answered.get(status) ?? 0) + (refused.get(status) ?? 0) };
      }
    }
  }

  /** The same, without what the transport answered itself. */
  *answeredByStatus(): Iterable<StatusCount> {
    for (const [endpoint, { answered }] of this.#entries()) {
      for (const status of inOrder([...answered.keys()])) {
        yield { endpoint, status, count: answered.get(status) ?? 0 };
      }
    }
  }

  *durationsMs(): Iterable<{ endpoint: CountedEndpoint; durationsMs: Histogram }> {
    for (const [endpoint, { durationsMs }] of this.#entries()) yield { endpoint, durationsMs };
  }

  count(endpoint: EndpointName, status: number): number {
    const counts = this.#endpoints[endpoint];
    return (counts?.answered.get(status) ?? 0) + (counts?.refused.get(status) ?? 0);
  }

  #entries(): (readonly [CountedEndpoint, EndpointCounts])[] {
    return [...endpointNames, 'unknown' as const].flatMap((endpoint) => {
      const counts = this.#endpoints[endpoint];
      return counts === undefined ? [] : [[endpoint, counts] as const];
    });
  }

  #of(endpoint: CountedEndpoint = 'unknown'): EndpointCounts {
    let counts = this.#endpoints[endpoint];
    if (counts === undefined) {
      counts = new EndpointCounts();
      this.#endpoints[endpoint] = counts;
    }
    return counts;
  }
}

function inOrder(statuses: readonly number[]): readonly number[] {
  return [...new Set(statuses)].sort((a, b) => a - b);
}
