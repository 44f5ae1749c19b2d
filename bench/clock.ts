/**
 * Measures a timer of the virtual clock, and whether its cost grows: nanoseconds to set and fire
 * one, among a thousand and among a million.
 * Run: node --expose-gc --import tsx bench/clock.ts
 */
import { VirtualClock } from '../src/sim/clock.ts';
import { Rng } from '../src/sim/rng.ts';
import { median } from './median.ts';

const startMs = Date.parse('2026-01-01T00:00:00.000Z');
const rounds = 3;

function cost(timers: number): number {
  const clock = new VirtualClock(startMs);
  const rng = Rng.stream(1, 'clock');
  const delays = Array.from({ length: timers }, () => rng.below(3_600_000));
  let fired = 0;
  const fire = (): void => {
    fired++;
  };
  globalThis.gc?.();
  const before = process.cpuUsage();
  for (const delay of delays) clock.setTimeout(fire, delay);
  clock.advanceTo(startMs + 3_600_000);
  const { user, system } = process.cpuUsage(before);
  if (fired !== timers || clock.pending !== 0) throw new Error('every timer fires once');
  return ((user + system) * 1_000) / timers;
}

for (const timers of [1_000, 100_000, 1_000_000]) {
  const all = Array.from({ length: rounds }, () => cost(timers));
  process.stdout.write(`${String(timers).padStart(9)} timers  ${median(all).toFixed(0)} ns each\n`);
}
