/**
 * Counts requests by endpoint and status, for readers of events. Counting costs two look-ups per
 * request; a separate event would cost several times as much as the request.
 */
import { z } from 'zod';
import { isoTime } from '../sim/iso-time.ts';
import { type EndpointName, endpointNames } from '../sim/limits.ts';
import { timeSchema } from './duration.ts';

export const trafficSchema = z.strictObject({
  at: timeSchema.describe('Simulated time of the last request counted.'),
  last_number: z.int().min(1).describe('Number of the last request counted.'),
  counts: z.array(
    z.strictObject({
      endpoint: z.enum(endpointNames).nullable().describe('Null: not a path of the service.'),
      status: z.int(),
      count: z.int().min(1),
    }),
  ),
});
export type TrafficEvent = Readonly<z.output<typeof trafficSchema>>;

export class Traffic {
  readonly #counts = new Map<EndpointName | undefined, Map<number, number>>();
  #atMs = 0;
  #lastNumber = 0;

  add(endpoint: EndpointName | undefined, status: number, number: number, atMs: number): void {
    this.#atMs = atMs;
    this.#lastNumber = number;
    let byStatus = this.#counts.get(endpoint);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#counts.set(endpoint, byStatus);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  }

  /** The counts since the last call; undefined if there are none. */
  take(): TrafficEvent | undefined {
    if (this.#counts.size === 0) return undefined;
    const counts = [...this.#counts].flatMap(([endpoint = null, byStatus]) =>
      [...byStatus].map(([status, count]) => ({ endpoint, status, count })),
    );
    this.#counts.clear();
    return { at: isoTime(this.#atMs), last_number: this.#lastNumber, counts };
  }
}
