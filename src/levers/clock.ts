/**
 * Time that users can move: the clock's modes and its jumps.
 */
import { LeverError } from '../sim/lever-error.ts';
import { isoTime } from '../sim/message.ts';
import { type ClockMode, clockModes, latestTimeMs } from '../sim/settings.ts';
import { durationMs, timeMs } from './duration.ts';
import type { Live } from './live.ts';

export interface ClockState {
  /** ISO 8601 UTC. */
  readonly now: string;
  readonly mode: ClockMode;
  /** Simulated seconds per second; 0 for a manual clock. */
  readonly rate: number;
  /** Timers that have not fired. */
  readonly pending: number;
  /** When the first of them falls due, or null. */
  readonly next_at: string | null;
}

/** Exactly one of the three. */
export type Advance =
  | { readonly by: string | number }
  | { readonly to: string | number }
  | { readonly until_idle: true };

export interface Advanced {
  readonly now: string;
  /** Timers that fired on the way. */
  readonly fired: number;
}

export class ClockLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  /** Epoch milliseconds of the simulated present. */
  now(): number {
    return this.#live.simulation.clock.now();
  }

  state(): ClockState {
    const { clock } = this.#live.simulation;
    const { mode, rate } = this.#live.wallClock;
    const nextAtMs = clock.nextAtMs;
    return {
      now: isoTime(clock.now()),
      mode,
      rate,
      pending: clock.pending,
      next_at: nextAtMs === undefined ? null : isoTime(nextAtMs),
    };
  }

  setMode(mode: ClockMode, rate?: number): ClockState {
    if (!clockModes.includes(mode)) {
      throw new LeverError('invalid', `expected one of ${clockModes.join(', ')}`, 'mode');
    }
    if (rate !== undefined && mode !== 'scaled') {
      throw new LeverError('invalid', 'only a scaled clock takes a rate', 'rate');
    }
    if (rate !== undefined && !(Number.isFinite(rate) && rate > 0)) {
      throw new LeverError('invalid', 'expected a number above 0', 'rate');
    }
    this.#live.wallClock.setMode(mode, rate);
    return this.state();
  }

  /**
   * Moves simulated time forward and returns when all that fell due has happened. A duration alone
   * (`'24h'`, or milliseconds) means `{ by }`. In the other modes time then goes on from there.
   */
  advance(how: Advance | string | number): Advanced {
    const { simulation, wallClock } = this.#live;
    const { clock } = simulation;
    const target = targetOf(typeof how === 'object' ? how : { by: how }, clock.now());
    const fired = target === 'idle' ? runUntilIdle(simulation) : clock.advanceTo(target);
    wallClock.anchor();
    return { now: isoTime(clock.now()), fired };
  }
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

/** Every timer belongs to work that ends, so this does too. */
function runUntilIdle({ clock }: Live['simulation']): number {
  let fired = 0;
  for (let nextAtMs = clock.nextAtMs; nextAtMs !== undefined; nextAtMs = clock.nextAtMs) {
    fired += clock.advanceTo(nextAtMs);
  }
  return fired;
}
