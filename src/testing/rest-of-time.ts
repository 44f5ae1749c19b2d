/**
 * Completes fake timers. Those of Vitest and sinon replace globals, but not all of
 * `node:timers/promises`, `AbortSignal.timeout`, and what a module imported by name. They also fire a
 * timer of less than a millisecond at once, so a client that sleeps that long until a deadline would
 * never reach it.
 */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';

const { scheduler } = timersPromises;
const { setImmediate, setTimeout, clearTimeout, setInterval, clearInterval } = timers;
const platform = {
  timers: { setTimeout, clearTimeout, setInterval, clearInterval },
  promises: { setTimeout: timersPromises.setTimeout, setInterval: timersPromises.setInterval },
  wait: scheduler.wait.bind(scheduler),
  abortAfter: AbortSignal.timeout,
};

/** Node waits this long for any shorter timer. */
const shortestTimerMs = 1;
const names = ['setTimeout', 'setInterval'] as const;

type SetTimer = (callback: unknown, ms?: unknown, ...args: unknown[]) => unknown;
/** The clock of fake timers, whose functions the replaced globals call. */
type FakeClock = Record<(typeof names)[number], SetTimer>;

/** A timer that fired. */
export interface FiredTimer {
  readonly name: string;
  readonly ms: number;
  /** Its stack shows where the timer was set. */
  readonly setBy: Error;
}

/** The timers of Node, also while they are replaced. */
export const realTimers = { setImmediate, setTimeout };

/** Resolves in the next turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void realTimers.setImmediate(resolve));
}

/** Turns of the event loop in which a client may act on what it got, before time moves on. */
const quietTurns = 3;

/** Resolves after so many turns in a row in which the client was not busy, or when it is over. */
export async function quiet(isOver: () => boolean, isBusy = () => false): Promise<void> {
  for (let turns = 0; turns < quietTurns && !isOver(); turns++) {
    await nextTurn();
    if (isBusy()) turns = 0;
  }
}

export function areTimersFake(): boolean {
  return 'clock' in globalThis.setTimeout || 'clock' in globalThis.Date;
}

/** Call it when fake timers are installed. Returns what uninstalls them, and the rest with them. */
export function fakeRestOfTime(
  uninstall: () => void,
  onFired?: (timer: FiredTimer) => void,
): () => void {
  const { clock } = globalThis.setTimeout as { clock?: FakeClock };
  const originals = names.map((name) => clock?.[name]);
  for (const name of names) {
    if (clock !== undefined) clock[name] = asNode(clock, name, onFired);
  }
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  Object.defineProperty(setTimeout, promisify.custom, { value: wait });
  Object.assign(timers, { setTimeout, clearTimeout, setInterval, clearInterval });
  Object.assign(timersPromises, { setTimeout: wait, setInterval: ticks });
  setWait((ms, options) => wait(ms, undefined, options));
  AbortSignal.timeout = timeoutSignal;
  syncBuiltinESMExports();
  return () => {
    for (const [at, name] of names.entries()) {
      const original = originals[at];
      if (clock !== undefined && original !== undefined) clock[name] = original;
    }
    Object.assign(timers, platform.timers);
    Object.assign(timersPromises, platform.promises);
    setWait(platform.wait);
    AbortSignal.timeout = platform.abortAfter;
    uninstall();
    syncBuiltinESMExports();
  };
}

/** The clock's function, with Node's shortest wait. */
function asNode(
  clock: FakeClock,
  name: (typeof names)[number],
  onFired: ((timer: FiredTimer) => void) | undefined,
): SetTimer {
  const original = clock[name];
  const set: SetTimer = (callback, given, ...args) => {
    const ms = Math.max(shortestTimerMs, Number(given) || 0);
    if (onFired === undefined || typeof callback !== 'function') {
      return original.call(clock, callback, ms, ...args);
    }
    const timer = { name, ms, setBy: new Error(name) };
    const fire = (...values: unknown[]) => {
      onFired(timer);
      callback(...values);
    };
    return original.call(clock, fire, ms, ...args);
  };
  return Object.assign(set, original);
}

function setWait(value: typeof scheduler.wait): void {
  Object.defineProperty(scheduler, 'wait', { value, configurable: true });
}

interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}

/** `setTimeout` of `node:timers/promises`. */
function wait<T>(ms?: number, value?: T, { signal }: WaitOptions = {}): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      globalThis.clearTimeout(timer);
      const error = new Error('The operation was aborted', { cause: signal?.reason });
      reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }));
    };
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/** `setInterval` of `node:timers/promises`. */
async function* ticks<T>(ms = 1, value?: T, options?: WaitOptions) {
  const everyMs = Math.max(shortestTimerMs, ms);
  for (let dueMs = Date.now() + everyMs; ; dueMs += everyMs) {
    await wait(dueMs - Date.now(), undefined, options);
    yield value;
  }
}

/** `AbortSignal.timeout`, which counts real time even when timers are replaced. */
function timeoutSignal(delayMs: number): AbortSignal {
  const controller = new AbortController();
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  globalThis.setTimeout(() => controller.abort(reason), delayMs);
  return controller.signal;
}
