/** The views of a SIM and of the clock, which several operations and events show. */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { eachOf } from '#io/grouped.ts';
import { allClockModes } from '../config/settings.ts';
import { pollingSchema } from '../config/world-schema.ts';
import type { ReplayTarget } from '../recording/play.ts';
import type { Device } from '../sim/accounts/account.ts';
import { latestTimeMs } from '../sim/clock.ts';
import { timeSchema } from './input-fields.ts';

export const simViewSchema = z
  .strictObject({
    device_id: z.uuid(),
    number: z.string(),
    account_id: z.uuid().nullable().describe('Null: a number of the shared pool.'),
    connected: z.boolean(),
    active: z.boolean(),
    polling: pollingSchema,
    allowed: z.boolean(),
    queue_length: z.int().min(0).describe('Messages that wait for its pickup, held ones included.'),
  })
  .meta({ id: 'Sim' });
export type SimView = Readonly<z.output<typeof simViewSchema>>;

/** How a fleet joins the views of one SIM: each shard has a queue for a number of the pool. */
export const simJoin = {
  ...eachOf(
    ['device_id', 'number', 'account_id', 'connected', 'active', 'polling', 'allowed'],
    'equal',
  ),
  queue_length: 'sum',
} as const;

export function simView(device: Device): SimView {
  return {
    device_id: device.deviceId,
    number: device.number,
    account_id: device.account?.accountId ?? null,
    connected: device.connected,
    active: device.active,
    polling: device.polling,
    allowed: device.allowed,
    queue_length: device.work.queueLength,
  };
}

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
