/**
 * Fields that the inputs of several operations share, and the conversion of durations and times
 * that people write, such as `24h`.
 */
import { z } from 'zod';
import { readDuration } from '#io/flag-values.ts';
import { startTimeSchema } from '../config/settings.ts';
import { numberSchema } from '../config/world-schema.ts';
import { OperationRefused } from '../sim/errors.ts';

/** The largest number that a query can give: nine digits. */
export const largestInQuery = 999_999_999;

/** A whole number from 1 to `largest`, with one message for every mistake. */
function ordinal(largest: number) {
  const error = `expected a whole number from 1 to ${largest}`;
  return z.int({ error }).min(1, { error }).max(largest, { error });
}

/** Takes digits, as a query gives them, for a number. */
function fromDigits(schema: z.ZodType) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value),
    schema,
  );
}

/** A number that counts from 1, such as that of a request. A query gives it as digits. */
export function ordinalSchema(largest: number) {
  // `preprocess` takes any input; callers in JavaScript should see that it is a number.
  return fromDigits(ordinal(largest)) as unknown as z.ZodNumber;
}

export function limitSchema({ largest, fallback }: { largest: number; fallback: number }) {
  // The inner default is the one that the documents show.
  const schema = fromDigits(ordinal(largest).default(fallback))
    .default(fallback)
    .describe('The largest number of entries.');
  return schema as unknown as z.ZodDefault<z.ZodNumber>;
}

/** A phone number in a filter. An unescaped plus sign in a query arrives as a space. */
export const numberFilterSchema = z.preprocess(
  (value) => (typeof value === 'string' ? value.replace(/^ /, '+') : value),
  numberSchema,
) as unknown as z.ZodType<string, string>;

export const timeSchema = z.iso.datetime().describe('ISO 8601 UTC, in simulated time.');

/** Converts `24h`, `1.5s` or `200ms` to whole milliseconds. A number is milliseconds already. */
export function durationMs(duration: string | number, path: string): number {
  const ms = typeof duration === 'number' ? duration : readDuration(duration);
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  const message = `${JSON.stringify(duration)} is not a duration: expected a number with ms, s, m, h or d, such as "24h"`;
  throw new OperationRefused('invalid', message, path);
}

/** Converts an ISO 8601 time with its zone to epoch milliseconds, which a number is already. */
export function timeMs(time: string | number, path: string): number {
  const reading = startTimeSchema.safeParse(time);
  if (reading.success) return reading.data;
  const expected = reading.error.issues[0]?.message ?? 'expected a time';
  throw new OperationRefused('invalid', `${JSON.stringify(time)} is not a time: ${expected}`, path);
}
