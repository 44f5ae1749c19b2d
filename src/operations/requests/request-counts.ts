/**
 * Counts requests over simulated time for a bar chart: the bars are as narrow as fits on a page.
 */
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { isoTime, secondMs } from '#contract/time.ts';
import { timeSchema } from '../duration.ts';
import { accountIdOf } from '../query.ts';
import type { RunningWorld } from '../running-world.ts';

/** The widths that a bar may have, from a second to a day. Longer runs have bars of many days. */
const widthsMs = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400].map(
  (seconds) => seconds * secondMs,
);
const mostBars = 60;
/** Bars are added up to this number: a single bar would be as wide as the whole plot. */
const fewestBars = 12;

export const countsQuerySchema = z.strictObject({
  account_id: z.string().exactOptional().describe('Its id or its name.'),
  endpoint: z.enum(endpointNames).exactOptional().describe('Counts this endpoint alone.'),
});

const countSchema = z.int().min(0);

export const requestCountsSchema = z
  .strictObject({
    width_ms: countSchema.describe('The length of a bar, in simulated time.'),
    from: timeSchema.describe('The start of the first bar.'),
    bars: z
      .array(z.strictObject({ count: countSchema, throttled: countSchema }))
      .describe('All requests, and those answered 429; bars without requests included.'),
  })
  .meta({ id: 'RequestCounts' });

/** The width of bars for requests of this time. */
export function widthFor(spanMs: number): number {
  const narrow = widthsMs.find((width) => spanMs / width < mostBars);
  return narrow ?? secondMs * Math.ceil(spanMs / mostBars / secondMs);
}

export function requestCounts(
  { exchangeRecord, simulation: { clock, world } }: RunningWorld,
  { account_id: idOrName, endpoint }: z.output<typeof countsQuerySchema>,
): z.output<typeof requestCountsSchema> {
  const accountId = idOrName === undefined ? undefined : accountIdOf(world, idOrName, 'account_id');
  const counted = [...exchangeRecord.seconds].filter(
    (second) =>
      (accountId === undefined || second.accountId === accountId) &&
      (endpoint === undefined || second.endpoint === endpoint),
  );
  const firstMs = counted[0]?.startMs ?? clock.now();
  const lastMs = counted.at(-1)?.startMs ?? firstMs;
  const spanMs = lastMs - firstMs + secondMs;
  const widthMs = widthFor(spanMs);
  const firstBar = Math.floor(firstMs / widthMs);
  const barCount = Math.max(fewestBars, Math.floor(lastMs / widthMs) - firstBar + 1);
  const bars = Array.from({ length: barCount }, () => ({ count: 0, throttled: 0 }));
  for (const { startMs, count, throttled } of counted) {
    const bar = bars[Math.floor(startMs / widthMs) - firstBar];
    if (bar === undefined) continue;
    bar.count += count;
    bar.throttled += throttled;
  }
  return { width_ms: widthMs, from: isoTime(firstBar * widthMs), bars };
}
