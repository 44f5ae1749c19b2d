/**
 * Completes the fake timers of Vitest and sinon. These replace globals, but not
 * `AbortSignal.timeout`, not every function of `node:timers/promises`, and no function that a
 * module imported by name. They also fire a timer of less than a millisecond at once: a client that
 * sleeps such times until a deadline would never reach it.
 */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';
import { realTimers } from '#io/event-loop.ts';

const { scheduler } = timersPromises;
const { setImmediate, setTimeout, clearTimeout, setInterval, clearInterval } = realTimers;
/** Node's own functions, to be restored. */
const originals = {
  timers: { setTimeout, clearTimeout, setInterval, clearInterval },
  promises: { setTimeout: timersPromises.setTimeout, setInterval: timersPromises.setInterval },
  wait: scheduler.wait.bind(scheduler),
  abortAfter: AbortSignal.timeout,
};

/** What is faked. `setImmediate` is not: it waits for no time, and Node's connections need it. */
export const clientTimers = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'Date',
  'performance',
] as const;

/** Node waits at least this long. */
const shortestTimerMs = 1;
const timerNames = ['setTimeout', 'setInterval'] as const;

type SetTimer = (callback: unknown, ms?: unknown, ...args: unknown[]) => unknown;
/** The clock of the fake timers: the replaced globals call its functions. */
type FakeClock = Record<(typeof timerNames)[number], SetTimer>;

export interface FiredTimer {
  readonly name: string;
  readonly ms: number;
  /** Its stack shows where the timer was set. */
  readonly setBy: Error;
}

/** Resolves in the next turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Turns of the event loop in which a client can act on a reply or timer before time moves on. */
const quietTurns = 3;

/** Resolves after `quietTurns` turns in a row without a busy client, or when it is over. */
export async function untilQuiet(isOver: () => boolean, isBusy = () => false): Promise<void> {
  for (let turns = 0; turns < quietTurns && !isOver(); turns++) {
    await nextTurn();
    if (isBusy()) turns = 0;
  }
}

export function areTimersFake(): boolean {
  return 'clock' in globalThis.setTimeout || 'clock' in globalThis.Date;
}

/** Fakes the rest of the timers. Returns a function that restores all and calls `uninstall`. */
export function fakeRestOfTime(
  uninstall: () => void,
  onFired?: (timer: FiredTimer) => void,
): () => void {
  const { clock } = globalThis.setTimeout as { clock?: FakeClock };
  const clockTimers = clock && { setTimeout: clock.setTimeout, setInterval: clock.setInterval };
  if (clock !== undefined) {
    for (const name of timerNames) clock[name] = withShortestWait(clock, name, onFired);
  }
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  // `promisify(setTimeout)` returns this function.
  Object.defineProperty(setTimeout, promisify.custom, { value: wait });
  Object.assign(timers, { setTimeout, clearTimeout, setInterval, clearInterval });
  Object.assign(timersPromises, { setTimeout: wait, setInterval: ticks });
  setSchedulerWait((ms, options) => wait(ms, undefined, options));
  AbortSignal.timeout = timeoutSignal;
  syncBuiltinESMExports();
  return () => {
    if (clock !== undefined) Object.assign(clock, clockTimers);
    Object.assign(timers, originals.timers);
    Object.assign(timersPromises, originals.promises);
    setSchedulerWait(originals.wait);
    AbortSignal.timeout = originals.abortAfter;
    uninstall();
    syncBuiltinESMExports();
  };
}

/** The clock's function, with Node's shortest wait. Reports each timer to `onFired` as it fires. */
function withShortestWait(
  clock: FakeClock,
  name: (typeof timerNames)[number],
  onFired: ((timer: FiredTimer) => void) | undefined,
): SetTimer {
  const original = clock[name];
  const setTimer: SetTimer = (callback, delay, ...args) => {
    const ms = Math.max(shortestTimerMs, Number(delay) || 0);
    if (onFired === undefined || typeof callback !== 'function')
      return original.call(clock, callback, ms, ...args);
    const timer = { name, ms, setBy: new Error(name) };
    const fire = (...values: unknown[]) => {
      onFired(timer);
      callback(...values);
    };
    return original.call(clock, fire, ms, ...args);
  };
  return Object.assign(setTimer, original);
}

function setSchedulerWait(value: typeof scheduler.wait): void {
  Object.defineProperty(scheduler, 'wait', { value, configurable: true });
}

interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Replaces `setTimeout` of `node:timers/promises`. */
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

/** Replaces `setInterval` of `node:timers/promises`. */
async function* ticks<T>(ms = 1, value?: T, options?: WaitOptions) {
  const everyMs = Math.max(shortestTimerMs, ms);
  for (let dueMs = Date.now() + everyMs; ; dueMs += everyMs) {
    await wait(dueMs - Date.now(), undefined, options);
    yield value;
  }
}

/** Replaces `AbortSignal.timeout`, which counts real time even while timers are fake. */
function timeoutSignal(delayMs: number): AbortSignal {
  const controller = new AbortController();
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  globalThis.setTimeout(() => controller.abort(reason), delayMs);
  return controller.signal;
}
