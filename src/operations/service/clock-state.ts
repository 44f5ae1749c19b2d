/** The state of the clock, as the control port shows it. */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { allClockModes } from '../../config/settings.ts';
import type { ReplayTarget } from '../../recording/play.ts';
import { latestTimeMs } from '../../sim/clock.ts';
import { timeSchema } from '../input-fields.ts';

export const clockStateSchema = z
  .strictObject({
    now: timeSchema,
    mode: z.enum(allClockModes).describe('`bound`: follows a function of the process.'),
    rate: z.number().describe('Simulated seconds per second; 0 for a manual clock.'),
    pending: z.int().min(0).describe('Timers that have not fired.'),
    next_at: timeSchema.nullable().describe('When the first timer is due.'),
  })
  .meta({ id: 'Clock' });
export type ClockState = Readonly<z.output<typeof clockStateSchema>>;

export const clockJoin = {
  now: 'latest',
  mode: 'equal',
  rate: 'equal',
  pending: 'sum',
  next_at: 'earliest',
} as const;

export function clockState({
  simulation,
  wallClock,
}: Pick<ReplayTarget, 'simulation' | 'wallClock'>): ClockState {
  const now = isoTime(wallClock.now());
  const { clock } = simulation;
  const { nextAtMs } = clock;
  return {
    now,
    mode: wallClock.mode,
    rate: wallClock.rate,
    pending: clock.pending,
    // A timer after the end of simulated time never fires.
    next_at: nextAtMs === undefined || nextAtMs > latestTimeMs ? null : isoTime(nextAtMs),
  };
}
