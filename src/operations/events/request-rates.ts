/**
 * The event `traffic`: how many requests there were since the last one, by endpoint and status. It
 * comes from counts that exist anyway, because an event for each request would cost several times
 * as much as the request.
 */
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { isoTime } from '#contract/time.ts';
import type { ExchangeRecord } from '../../recording/exchange-record.ts';
import { timeSchema } from '../duration.ts';

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

/** Turns total counts into counts since the last call. */
export class Traffic {
  /** The totals at the last call, by `endpoint status`. */
  #last = new Map<string, number>();

  /** The counts since the last call; undefined if there are none. */
  take(record: ExchangeRecord): TrafficEvent | undefined {
    const seen = new Map<string, number>();
    const counts: TrafficEvent['counts'] = [];
    for (const { endpoint, status, count } of record.counts.answeredByStatus()) {
      const key = `${endpoint} ${status}`;
      seen.set(key, count);
      const since = count - (this.#last.get(key) ?? 0);
      const named = endpoint === 'unknown' ? null : endpoint;
      if (since > 0) counts.push({ endpoint: named, status, count: since });
    }
    this.#last = seen;
    const [newest] = record.newest();
    if (counts.length === 0 || newest === undefined) return undefined;
    return { at: isoTime(newest.atMs), last_number: newest.number, counts };
  }
}
