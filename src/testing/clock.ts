/**
 * `smstwin/clock`: makes a Node process run at `SMSTWIN_RATE` times the speed of the wall clock, to
 * go with `smstwin serve --clock scaled --rate N`: `node --import smstwin/clock app.js`. Timers
 * fire up to two real milliseconds late and never early, so a client that waits `Retry-After`
 * seconds has also waited them on the server's clock. Imports nothing of the project, because it is
 * loaded first.
 */
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { performance } from 'node:perf_hooks';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';

const defaultRate = 60;
const largestRate = 1_000_000;
/** The longest delay of a timer. Node fires a timer with a longer one at once, and so do these. */
const longestTimerMs = 2 ** 31 - 1;
/**
 * Holds the wall time at which time began to run at the rate, in epoch milliseconds. Threads and
 * child processes inherit it, so that all of them have the same time.
 */
const sinceVariable = 'SMSTWIN_CLOCK_SINCE';

const rate = rateOf(process.env['SMSTWIN_RATE']);

// Node's own functions: those that this module replaces below must not be called here.
const RealDate = Date;
const ticksMs = performance.now.bind(performance);
const ticksNs = process.hrtime.bigint.bind(process.hrtime);
const realUptime = process.uptime.bind(process);
const realNowMs = () => performance.timeOrigin + ticksMs();
const sinceMs = Number(process.env[sinceVariable]) || realNowMs();
process.env[sinceVariable] = String(sinceMs);

const ticksAtLoadMs = ticksMs();
const ticksAtLoadNs = ticksNs();
/** The rate in millionths: a bigint has no fractions. */
const rateMillionths = BigInt(Math.round(rate * 1_000_000));

function rateOf(text: string | undefined): number {
  const rate = text === undefined || text === '' ? defaultRate : Number(text);
  if (rate > 0 && rate <= largestRate) return rate;
  process.stderr.write(
    `SMSTWIN_RATE: expected a number above 0, at most ${largestRate}; got ${JSON.stringify(text)}\n`,
  );
  process.exit(2);
}

function nowMs(): number {
  return Math.floor(sinceMs + (realNowMs() - sinceMs) * rate);
}

/**
 * The real milliseconds of a wait: the wait divided by the rate, plus one, because Node's timers
 * may fire up to a millisecond early. A value that Node does not take as a wait stays unchanged.
 */
function realMs<T>(ms: T): T | number {
  if (typeof ms !== 'number' || !(ms > 0 && ms <= longestTimerMs)) return ms;
  return rate === 1 ? ms : Math.min(Math.ceil(ms / rate) + 1, longestTimerMs);
}

function scaledNs(): bigint {
  return ticksAtLoadNs + ((ticksNs() - ticksAtLoadNs) * rateMillionths) / 1_000_000n;
}

function scaledHrtime(since?: readonly [number, number]): [number, number] {
  const ns =
    scaledNs() - (since === undefined ? 0n : BigInt(since[0]) * 1_000_000_000n + BigInt(since[1]));
  return [Number(ns / 1_000_000_000n), Number(ns % 1_000_000_000n)];
}

/** Wraps a timer function: shortens its wait, the argument at `waitIndex` in milliseconds. */
function withShorterWait<F>(original: F, { waitIndex }: { readonly waitIndex: number }): F {
  const call = original as (...args: unknown[]) => unknown;
  function scaled(this: unknown, ...args: unknown[]): unknown {
    if (args.length > waitIndex) args[waitIndex] = realMs(args[waitIndex]);
    return Reflect.apply(call, this, args);
  }
  return scaled as F;
}

function patchDate(): void {
  RealDate.now = nowMs;
  const scaled = new Proxy(RealDate, {
    apply: () => new RealDate(nowMs()).toString(),
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [nowMs()] : args, newTarget),
  });
  // `instanceof` stays true, and `new date.constructor()` also has the scaled time.
  RealDate.prototype.constructor = scaled;
  globalThis.Date = scaled;
}

function patchTimers(): void {
  const delay = withShorterWait(timersPromises.setTimeout, { waitIndex: 0 });
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const scaled = withShorterWait(timers[name], { waitIndex: 1 }) as never;
    Object.assign(timers, { [name]: scaled });
    Object.assign(globalThis, { [name]: scaled });
  }
  // `promisify(setTimeout)` returns this function.
  Object.defineProperty(timers.setTimeout, promisify.custom, { value: delay });
  timersPromises.setTimeout = delay;
  timersPromises.setInterval = withShorterWait(timersPromises.setInterval, { waitIndex: 0 });
  const { scheduler } = timersPromises;
  Object.defineProperty(scheduler, 'wait', {
    value: withShorterWait(scheduler.wait, { waitIndex: 0 }).bind(scheduler),
  });
  AbortSignal.timeout = withShorterWait(AbortSignal.timeout, { waitIndex: 0 });
  // HTTP clients set their timeouts on the socket.
  net.Socket.prototype.setTimeout = withShorterWait(net.Socket.prototype.setTimeout, {
    waitIndex: 0,
  });
}

function patchTicks(): void {
  performance.now = () => ticksAtLoadMs + (ticksMs() - ticksAtLoadMs) * rate;
  process.hrtime = Object.assign(scaledHrtime, { bigint: scaledNs });
  process.uptime = () => realUptime() * rate;
}

patchDate();
patchTimers();
patchTicks();
// Modules that import a function by name, as from `node:timers`, then also get the scaled one.
syncBuiltinESMExports();
