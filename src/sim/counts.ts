/**
 * Counts for metrics, of message events and of requests, since the process started. They survive a
 * reset, so that they never decrease. The hot path only adds numbers; labels and texts are made
 * when the metrics are read.
 */
import { type EndpointName, endpointNames } from '#contract/limits.ts';
import type { Status } from '#contract/message-status.ts';
import { secondMs } from '#contract/time.ts';

/**
 * A histogram with fixed buckets. Counting a value costs a few comparisons and allocates nothing.
 */
export class Histogram {
  /** The upper bounds of the buckets, ascending; a bound belongs to its bucket. */
  readonly bounds: readonly number[];
  /** Values per bucket; the last bucket has no upper bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = [...bounds, 0].fill(0);
  }

  observe(value: number, times = 1): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    counts[bucket] = (counts[bucket] ?? 0) + times;
    this.sum += value * times;
  }
}

/** Bounds in seconds: around the 20 s of a poll, and up to long `send_at` holds. */
const ageBounds = [1, 5, 10, 20, 40, 60, 80, 120, 300, 900, 3_600, 21_600, 86_400, 604_800];

export class MessageCounts {
  accepted = 0;
  /** Messages that earlier simulations forgot. The present one counts its own. */
  forgottenBefore = 0;
  /** Simulated seconds from acceptance to each later status. */
  readonly ages: Readonly<Record<Exclude<Status, 'queued'>, Histogram>> = {
    sending: new Histogram(ageBounds),
    sent: new Histogram(ageBounds),
    delivered: new Histogram(ageBounds),
    failed: new Histogram(ageBounds),
  };

  /**
   * Call this when another simulation replaces one that has forgotten `previous` messages. The sum
   * of both counts stays the same, also if a restored snapshot brings a number of its own.
   */
  noteReplaced(previous: number, { forgottenMessages }: { forgottenMessages: number }): void {
    this.forgottenBefore += previous - forgottenMessages;
  }

  /** Counts the ages of messages at a status. `createdPairs`: see `Cohort.createdPairs`. */
  reached(status: Status, nowMs: number, createdPairs: readonly number[]): void {
    if (status === 'queued') return;
    const ages = this.ages[status];
    for (let at = 0; at + 1 < createdPairs.length; at += 2)
      ages.observe((nowMs - (createdPairs[at] ?? 0)) / secondMs, createdPairs[at + 1] ?? 0);
  }
}

/** `unknown`: a path that the service does not have. */
export type CountedEndpoint = EndpointName | 'unknown';

/** Bounds in milliseconds: most requests take some microseconds. */
const durationBoundsMs = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000,
];

export interface StatusCount {
  readonly endpoint: CountedEndpoint;
  readonly status: number;
  readonly count: number;
}

class EndpointCounts {
  readonly answered = new Map<number, number>();
  /** Requests that the transport answered itself, before they reached the service. */
  readonly refused = new Map<number, number>();
  readonly durationsMs = new Histogram(durationBoundsMs);
}

/** Requests to the service by endpoint and status, with their durations. */
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
      for (const status of inOrder([...answered.keys(), ...refused.keys()]))
        yield { endpoint, status, count: (answered.get(status) ?? 0) + (refused.get(status) ?? 0) };
    }
  }

  /** The counts of `byStatus` without requests that the transport answered itself. */
  *answeredByStatus(): Iterable<StatusCount> {
    for (const [endpoint, { answered }] of this.#entries()) {
      for (const status of inOrder([...answered.keys()]))
        yield { endpoint, status, count: answered.get(status) ?? 0 };
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
