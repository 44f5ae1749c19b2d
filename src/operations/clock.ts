/**
 * Time that users can move: the clock's modes and its jumps.
 */
import { z } from 'zod';
import { type ClockMode, clockModes, largestRate } from '../config/settings.ts';
import { latestTimeMs } from '../sim/clock.ts';
import { LeverError } from '../sim/lever-error.ts';
import { isoTime } from '../sim/message.ts';
import { durationMs, timeMs, timeSchema } from './duration.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';

export const clockStateSchema = z.strictObject({
  now: timeSchema,
  mode: z.enum(clockModes),
  rate: z.number().describe('Simulated seconds per second; 0 for a manual clock.'),
  pending: z.int().min(0).describe('Timers that have not fired.'),
  next_at: timeSchema.nullable().describe('When the first of them falls due.'),
});
export type ClockState = Readonly<z.output<typeof clockStateSchema>>;

export const clockModeSchema = z.strictObject({
  mode: z.enum(clockModes),
  rate: z
    .number()
    .positive({ error: 'expected a number above 0' })
    .max(largestRate)
    .exactOptional()
    .describe('Only with `scaled`; without it, the rate it had.'),
});

const amountSchema = z.union([z.string(), z.number()], { error: 'expected a string or a number' });
/** Exactly one of the three. */
export const advanceSchema = z.union(
  [
    z.strictObject({
      by: amountSchema.describe('`"24h"`, in ms, s, m, h or d; or milliseconds.'),
    }),
    z.strictObject({ to: amountSchema.describe('ISO 8601 with its zone; or epoch milliseconds.') }),
    z.strictObject({ until_idle: z.literal(true) }),
  ],
  { error: 'expected one of {"by":"24h"}, {"to":"<ISO 8601>"} and {"until_idle":true}' },
);
export type Advance = Readonly<z.input<typeof advanceSchema>>;

export const advancedSchema = z.strictObject({
  now: timeSchema,
  fired: z.int().min(0).describe('Timers that fired on the way.'),
});
export type Advanced = Readonly<z.output<typeof advancedSchema>>;

export class ClockLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  /** Epoch milliseconds of the simulated present. */
  now(): number {
    this.#live.wallClock.pump();
    return this.#live.simulation.clock.now();
  }

  state(): ClockState {
    return clockState(this.#live);
  }

  setMode(mode: ClockMode, rate?: number): ClockState {
    return this.#live.change('clock.setMode', rate === undefined ? [mode] : [mode, rate], () => {
      readInput(clockModeSchema, rate === undefined ? { mode } : { mode, rate });
      if (rate !== undefined && mode !== 'scaled') {
        throw new LeverError('invalid', 'only a scaled clock takes a rate', 'rate');
      }
      this.#live.wallClock.setMode(mode, rate);
      const state = this.state();
      this.#live.activity.publish('clock', state);
      return state;
    });
  }

  /**
   * Moves simulated time forward and returns when all that fell due has happened. A duration alone
   * (`'24h'`, or milliseconds) means `{ by }`. In the other modes time then goes on from there.
   */
  advance(how: Advance | string | number): Advanced {
    return this.#live.change('clock.advance', [how], () => {
      const { simulation, wallClock } = this.#live;
      const { clock } = simulation;
      const read = readInput(advanceSchema, isAmount(how) ? { by: how } : how);
      const target = targetOf(read, clock.now());
      const fired = target === 'idle' ? runUntilIdle(simulation) : clock.advanceTo(target);
      wallClock.anchor();
      if (this.#live.activity.isWatched) this.#live.activity.publish('clock', this.state());
      return { now: isoTime(clock.now()), fired };
    });
  }
}

export function clockState({ simulation, wallClock }: Live): ClockState {
  wallClock.pump();
  const { clock } = simulation;
  const { nextAtMs } = clock;
  return {
    now: isoTime(clock.now()),
    mode: wallClock.mode,
    rate: wallClock.rate,
    pending: clock.pending,
    // What is due after the end of time never comes.
    next_at: nextAtMs === undefined || nextAtMs > latestTimeMs ? null : isoTime(nextAtMs),
  };
}

function isAmount(how: unknown): how is string | number {
  return typeof how === 'string' || typeof how === 'number';
}

function targetOf(how: Advance, nowMs: number): number | 'idle' {
  const targetMs =
    'by' in how
      ? nowMs + durationMs(how.by, 'by')
      : 'to' in how
        ? timeMs(how.to, 'to')
        : Number.POSITIVE_INFINITY;
  if ('until_idle' in how) return 'idle';
  const path = 'by' in how ? 'by' : 'to';
  if (targetMs < nowMs) {
    throw new LeverError('invalid', `time does not go back: it is ${isoTime(nowMs)} already`, path);
  }
  if (targetMs > latestTimeMs) {
    throw new LeverError('invalid', `simulated time ends at ${isoTime(latestTimeMs)}`, path);
  }
  return targetMs;
}

/** Every timer belongs to work that ends, so this does too. What is due after the end of time never comes. */
function runUntilIdle({ clock }: Live['simulation']): number {
  let fired = 0;
  for (let nextAtMs = clock.nextAtMs; nextAtMs !== undefined; nextAtMs = clock.nextAtMs) {
    if (nextAtMs > latestTimeMs) break;
    fired += clock.advanceTo(nextAtMs);
  }
  return fired;
}
