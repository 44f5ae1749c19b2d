/**
 * Measures the limiter: nanoseconds for a known key that passes and for one that is refused; bytes
 * for each of a million keys seen once, and the memory left two windows later; buckets of a million
 * forged addresses while time stands still.
 * Run: node --expose-gc --import tsx bench/limiter.ts
 */
import { defaultAssumptions } from '../src/sim/assumptions.ts';
import { addressCaller } from '../src/sim/caller.ts';
import { Limiter } from '../src/sim/limiter.ts';
import { documentedLimitsPerMinute } from '../src/sim/limits.ts';
import { heapBytes } from './heap.ts';
import { median } from './median.ts';

const checks = 2_000_000;
const rounds = 5;
const keys = 1_000_000;
let nowMs = Date.parse('2026-01-01T00:00:00.000Z');
const limiter = new Limiter(() => nowMs, documentedLimitsPerMinute, {
  answers: defaultAssumptions,
});

/** Calls are `stepMs` apart: far enough to pass, or close enough to be refused. */
function check(names: readonly string[], stepMs: number): number {
  const before = process.cpuUsage();
  let refused = 0;
  for (let n = 0; n < checks; n++) {
    if (n % names.length === 0) nowMs += stepMs;
    if (limiter.take('send', names[n % names.length] ?? '') > 0) refused++;
  }
  const { user, system } = process.cpuUsage(before);
  if (stepMs > 0 === refused > checks / 2)
    throw new Error('the limiter passed or refused the wrong calls');
  return ((user + system) * 1_000) / checks;
}

const known = Array.from({ length: 1_000 }, (_, n) => `user-${n}`);
const passing: number[] = [];
const refusing: number[] = [];
for (let round = 0; round < rounds; round++) {
  nowMs += 600_000;
  passing.push(check(known, 501));
  refusing.push(check(known, 0));
}
process.stdout.write(`known key that passes    ${median(passing).toFixed(0)} ns\n`);
process.stdout.write(`known key that is refused ${median(refusing).toFixed(0)} ns\n`);

nowMs += 600_000;
limiter.take('send', 'turn');
const empty = heapBytes();
for (let n = 0; n < keys; n++) limiter.take('send', `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
process.stdout.write(
  `a key seen once          ${((heapBytes() - empty) / keys).toFixed(0)} bytes\n`,
);
for (let turn = 0; turn < 2; turn++) {
  nowMs += 120_000;
  limiter.take('send', 'turn');
}
const left = ((heapBytes() - empty) / keys).toFixed(0);
process.stdout.write(`two generations later    ${left} bytes, ${limiter.size} keys\n`);

for (let n = 0; n < keys; n++) limiter.take('send', addressCaller(`2001:db8::${n.toString(16)}`));
process.stdout.write(
  `a million addresses      ${limiter.size} buckets, ` +
    `${((heapBytes() - empty) / 1_048_576).toFixed(0)} MiB\n`,
);
