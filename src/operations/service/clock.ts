/** The operations on simulated time: read it, set what moves it, and advance it. */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { clockModes, largestRate } from '../../config/settings.ts';
import { latestTimeMs } from '../../sim/clock.ts';
import { OperationRefused } from '../../sim/errors.ts';
import type { Simulation } from '../../simulation/simulation.ts';
import { defineOperation } from '../define.ts';
import { durationMs, timeMs, timeSchema } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';
import { type ClockState, clockJoin, clockState, clockStateSchema } from '../views.ts';

const modeSchema = z.strictObject({
  mode: z
    .enum(clockModes)
    .describe(
      'manual stands still until it is advanced; real runs as the wall clock; scaled runs `rate` times as fast.',
    ),
  rate: z
    .number()
    .positive({ error: 'expected a number above 0' })
    .max(largestRate)
    .exactOptional()
    .describe('Only with `scaled`. Default: the earlier rate.'),
  since_ms: z
    .int()
    .min(0)
    .exactOptional()
    .describe(
      'The real time, in epoch milliseconds, that belongs to the present simulated time. Default: now.',
    ),
});
type Mode = z.input<typeof modeSchema>;

/** Exactly one of `by`, `to` and `until_idle`. */
export const advanceSchema = z
  .union(
    [
      z
        .strictObject({
          by: z
            .string({ error: 'expected a text with its unit: write "60s" for 60 seconds' })
            .describe('Such as `24h`: a number with ms, s, m, h or d.'),
        })
        .meta({ title: 'by a duration' }),
      z
        .strictObject({
          to: z
            .union([z.string(), z.number()], { error: 'expected a string or a number' })
            .describe('ISO 8601 with its zone; or epoch milliseconds.'),
        })
        .meta({ title: 'to a time' }),
      z.strictObject({ until_idle: z.literal(true) }).meta({ title: 'until idle' }),
    ],
    { error: 'expected one of {"by":"24h"}, {"to":"<ISO 8601>"} and {"until_idle":true}' },
  )
  .meta({ title: 'Advance' });
type AdvanceInput = z.input<typeof advanceSchema>;
/** In JavaScript a duration may also be a number of milliseconds. */
export type Advance = { readonly by: string | number } | Exclude<AdvanceInput, { by: unknown }>;

export const clock = {
  now: defineOperation({
    fleet: { scope: 'local' },
    summary: 'The simulated time in epoch milliseconds.',
    output: z.int(),
    run: ({ simulation }) => simulation.clock.now(),
  }),

  state: defineOperation({
    http: 'GET /control/clock',
    summary: 'Simulated time, and the timers that wait for it.',
    output: clockStateSchema,
    fleet: { joined: clockJoin },
    run: clockState,
  }),

  setMode: defineOperation({
    http: 'PUT /control/clock',
    summary: 'Sets what moves simulated time. Time continues from the present.',
    input: modeSchema,
    output: clockStateSchema,
    fleet: { joined: clockJoin },
    examples: [{ mode: 'scaled', rate: 60 }, { mode: 'manual' }, { mode: 'real' }],
    arguments: (mode: Mode['mode'] | Mode, rate?: number): Mode => {
      if (typeof mode === 'object') return mode;
      return rate === undefined ? { mode } : { mode, rate };
    },
    run: (live, { mode, rate, since_ms: sinceMs }) => {
      if (rate !== undefined && mode !== 'scaled')
        throw new OperationRefused('invalid', 'rate needs a scaled clock', 'rate');
      live.wallClock.setMode(mode, rate, sinceMs);
      return publishState(live);
    },
  }),

  advance: defineOperation({
    http: 'POST /control/clock/advance',
    summary: 'Moves simulated time; answers when everything that fell due has happened.',
    description: 'If the clock is not manual, time continues from there.',
    input: advanceSchema,
    output: z.strictObject({
      now: timeSchema,
      fired: z.int().min(0).describe('Timers that fired on the way.'),
    }),
    fleet: { joined: 'computed' },
    examples: [{ by: '24h' }, { to: '2030-01-01T00:00:00Z' }, { until_idle: true }],
    arguments: (how: Advance | string | number): AdvanceInput => withUnit(how),
    run: (live, how) => {
      const { simulation, wallClock } = live;
      if (wallClock.mover !== undefined) {
        const message = `this would move the service without its client: use ${wallClock.mover}.advance()`;
        throw new OperationRefused('invalid', message);
      }
      const { clock } = simulation;
      const target = targetOf(how, clock.now());
      const fired = target === 'idle' ? runUntilIdle(simulation) : clock.advanceTo(target);
      wallClock.anchor();
      if (live.activity.hasAudience) publishState(live);
      return { now: isoTime(clock.now()), fired };
    },
  }),
};

/** The state of a clock that has changed, also reported as an event. */
function publishState(live: RunningWorld): ClockState {
  const state = clockState(live);
  live.activity.publish('clock', state);
  return state;
}

/** The input for the arguments of the method, where a number means milliseconds. */
function withUnit(how: Advance | string | number): AdvanceInput {
  if (typeof how === 'string' || typeof how === 'number') return withUnit({ by: how });
  return typeof how === 'object' && 'by' in how && typeof how.by === 'number'
    ? { by: `${how.by}ms` }
    : (how as AdvanceInput);
}

/** The time to advance to, in epoch milliseconds. */
export function targetOf(how: AdvanceInput, nowMs: number): number | 'idle' {
  if ('until_idle' in how) return 'idle';
  const path = 'by' in how ? 'by' : 'to';
  const targetMs = 'by' in how ? nowMs + durationMs(how.by, path) : timeMs(how.to, path);
  if (targetMs < nowMs) {
    const message = `time cannot go back: it is already ${isoTime(nowMs)}`;
    throw new OperationRefused('invalid', message, path);
  }
  if (targetMs > latestTimeMs)
    throw new OperationRefused('invalid', `simulated time ends at ${isoTime(latestTimeMs)}`, path);
  return targetMs;
}

/**
 * Fires timers until none is left, and returns how many fired. It terminates, because every timer
 * belongs to work that ends. A timer after the end of simulated time never fires.
 */
function runUntilIdle({ clock }: Simulation): number {
  let fired = 0;
  for (let nextAtMs = clock.nextAtMs; nextAtMs !== undefined; nextAtMs = clock.nextAtMs) {
    if (nextAtMs > latestTimeMs) break;
    fired += clock.advanceTo(nextAtMs);
  }
  return fired;
}
