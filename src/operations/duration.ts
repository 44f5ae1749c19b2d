/** Durations and times as people write them: `24h`, `90s`, 1500, `2026-01-01T00:00:00.000Z`. */
import { z } from 'zod';
import { readDuration } from '#io/flag-values.ts';
import { startTimeSchema } from '../config/settings.ts';
import { OperationRefused } from '../sim/operation-refused.ts';

/** The schema of a time in outputs. */
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
