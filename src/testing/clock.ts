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
/** A longer delay makes Node's timers fire at once, here too. */
const longestTimerMs = 2 ** 31 - 1;
/**
 * When this process's time began to run at the rate; threads and child processes continue from it.
 */
const sinceName = 'SMSTWIN_CLOCK_SINCE';

const rate = rateOf(process.env['SMSTWIN_RATE']);
const RealDate = Date;
const ticksMs = performance.now.bind(performance);
const ticksNs = process.hrtime.bigint.bind(process.hrtime);
const realUptime = process.uptime.bind(process);
const loadedMs = performance.timeOrigin + ticksMs();
const sinceMs = Number(process.env[sinceName]) || loadedMs;
process.env[sinceName] = String(sinceMs);

function rateOf(text: string | undefined): number {
  const given = text === undefined || text === '' ? defaultRate : Number(text);
  if (given > 0 && given <= largestRate) return given;
  process.stderr.write(
    `SMSTWIN_RATE: expected a number above 0, at most ${largestRate}; got ${JSON.stringify(text)}\n`,
  );
  process.exit(2);
}

function nowMs(): number {
  return Math.floor(sinceMs + (performance.timeOrigin + ticksMs() - sinceMs) * rate);
}

/**
 * Real milliseconds of a wait: its share plus one, because Node's timers may fire up to a
 * millisecond early. Any other value is passed to Node unchanged.
 */
function realMs<T>(ms: T): T | number {
  if (typeof ms !== 'number' || !(ms > 0 && ms <= longestTimerMs)) return ms;
  return rate === 1 ? ms : Math.min(Math.ceil(ms / rate) + 1, longestTimerMs);
}

const ticksAtLoadMs = ticksMs();
const ticksAtLoadNs = ticksNs();
const rateOfNs = BigInt(Math.round(rate * 1_000_000));

function scaledNs(): bigint {
  return ticksAtLoadNs + ((ticksNs() - ticksAtLoadNs) * rateOfNs) / 1_000_000n;
}

function scaledHrtime(since?: readonly [number, number]): [number, number] {
  const ns =
    scaledNs() - (since === undefined ? 0n : BigInt(since[0]) * 1_000_000_000n + BigInt(since[1]));
  return [Number(ns / 1_000_000_000n), Number(ns % 1_000_000_000n)];
}

/** The function, with its wait in milliseconds (the argument at `index`) shortened. */
function sooner<F>(original: F, index: number): F {
  const call = original as (...args: unknown[]) => unknown;
  function scaled(this: unknown, ...args: unknown[]): unknown {
    if (args.length > index) args[index] = realMs(args[index]);
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
  RealDate.prototype.constructor = scaled;
  globalThis.Date = scaled;
}

function patchTimers(): void {
  const delay = sooner(timersPromises.setTimeout, 0);
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const scaled = sooner(timers[name], 1) as never;
    Object.assign(timers, { [name]: scaled });
    Object.assign(globalThis, { [name]: scaled });
  }
  Object.defineProperty(timers.setTimeout, promisify.custom, { value: delay });
  timersPromises.setTimeout = delay;
  timersPromises.setInterval = sooner(timersPromises.setInterval, 0);
  const { scheduler } = timersPromises;
  Object.defineProperty(scheduler, 'wait', { value: sooner(scheduler.wait, 0).bind(scheduler) });
  AbortSignal.timeout = sooner(AbortSignal.timeout, 0);
  // HTTP clients set their timeouts on the socket.
  net.Socket.prototype.setTimeout = sooner(net.Socket.prototype.setTimeout, 0);
}

function patchTicks(): void {
  performance.now = () => ticksAtLoadMs + (ticksMs() - ticksAtLoadMs) * rate;
  process.hrtime = Object.assign(scaledHrtime, { bigint: scaledNs });
  process.uptime = () => realUptime() * rate;
}

patchDate();
patchTimers();
patchTicks();
// Makes `import { setTimeout } from 'node:timers'` return them too.
syncBuiltinESMExports();
