/**
 * Waits until enough messages match a query: in simulated time, which the wait moves forward, or in
 * real time. A wait in real time counts again after each change of a message.
 */
import { z } from 'zod';
import { dayMs } from '#contract/time.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { latestTimeMs } from '../../sim/clock.ts';
import { OperationRefused, refuseMore } from '../../sim/errors.ts';
import { longestTimerMs, WallClock } from '../../simulation/wall-clock.ts';
import type { RunningWorld } from '../running-world.ts';
import {
  largestPage,
  matchIn,
  matchSchema,
  messageRecord,
  messageRecordSchema,
  newestMatching,
} from './message-query.ts';

export const waitInputSchema = z
  .strictObject({
    match: matchSchema.default({}),
    count: z.int().min(1).max(1_000_000).default(1).describe('The number of messages to wait for.'),
    timeout_ms: z
      .int()
      .min(0)
      .max(365 * dayMs)
      .default(5_000)
      .describe('Real milliseconds; simulated ones with `advance`.'),
    advance: z
      .boolean()
      .default(false)
      .describe('Manual clock only: moves simulated time from deadline to deadline.'),
  })
  .prefault({});
type Wait = Readonly<z.output<typeof waitInputSchema>>;

export const waitedSchema = z.strictObject({
  count: z.int().min(0).describe('How many match.'),
  messages: z.array(messageRecordSchema).describe(`The newest ${largestPage} of them.`),
});
type Waited = Readonly<z.output<typeof waitedSchema>>;

/** The largest number of open waits in real time; one more is refused. */
export const mostWaits = 1_000;

/** A count of this length is long: a pause follows it. A million messages take longer. */
const longCountMs = 1;
/** The pause after a long count, as a multiple of its length: waits take about 5% of the time. */
const pauseFactor = 20;

/** Moves simulated time forward, synchronously, until enough messages match. */
export function advanceUntil({ wallClock, simulation }: RunningWorld, input: Wait): Waited {
  const { clock, world } = simulation;
  const wait = withAccountId(world, input);
  if (wallClock.mode !== 'manual')
    throw new OperationRefused('invalid', 'advance needs a manual clock', 'advance');
  const untilMs = Math.min(clock.now() + wait.timeout_ms, latestTimeMs);
  for (;;) {
    const found = foundIn(world, wait);
    if (found !== undefined) return found;
    if (clock.now() === untilMs) throw timeout(world, wait);
    clock.advanceTo(Math.min(clock.nextAtMs ?? untilMs, untilMs));
  }
}

/** Resolves when enough messages match in real time; rejects with `timeout` otherwise. */
export function waitFor(live: RunningWorld, input: Wait): Promise<Waited> {
  const wait = withAccountId(live.simulation.world, input);
  const alreadyFound = foundIn(live.simulation.world, wait);
  if (alreadyFound !== undefined) return Promise.resolve(alreadyFound);
  refuseMore(live.waits.size, mostWaits, 'waits');
  return new Promise((resolve, reject) => {
    const timers = presentTimers();
    const close = () => {
      timers.clearTimeout(timeoutTimer);
      pacedCount.stop();
      for (const stopListening of stops) stopListening();
      live.waits.delete(fail);
    };
    const fail = (error: OperationRefused) => {
      close();
      reject(error);
    };
    const count = () => {
      const found = foundIn(live.simulation.world, wait);
      if (found === undefined) return;
      close();
      resolve(found);
    };
    const pacedCount = new PacedCount(count, timers);
    const onChange = () => pacedCount.request();
    live.waits.add(fail);
    const stops = [
      live.activity.onMessagesChanged(onChange),
      live.activity.listen('clock', onChange),
    ];
    const onTimeout = () => {
      live.wallClock.catchUp();
      count();
      // Has no effect if the count has just resolved the promise.
      fail(timeout(live.simulation.world, wait));
    };
    const timeoutTimer = timers.setTimeout(onTimeout, Math.min(wait.timeout_ms, longestTimerMs));
  });
}

/** The timers for a whole wait: a test may fake them, or restore the real ones, meanwhile. */
function presentTimers(): Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'> {
  return { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
}

/** Counts once for all changes of a turn of the event loop or, after a long count, of a pause. */
class PacedCount {
  readonly #count: () => void;
  readonly #timers: ReturnType<typeof presentTimers>;
  #isDue = false;
  #lastTookMs = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(count: () => void, timers: ReturnType<typeof presentTimers>) {
    this.#count = count;
    this.#timers = timers;
  }

  request(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    const run = () => this.#run();
    if (this.#lastTookMs < longCountMs) void Promise.resolve().then(run);
    else this.#pause = this.#timers.setTimeout(run, this.#lastTookMs * pauseFactor);
  }

  stop(): void {
    this.#timers.clearTimeout(this.#pause);
  }

  #run(): void {
    this.#isDue = false;
    const startedMs = WallClock.ticksMs();
    this.#count();
    this.#lastTookMs = WallClock.ticksMs() - startedMs;
  }
}

function withAccountId(world: Registry, wait: Wait): Wait {
  return { ...wait, match: matchIn(world, wait.match) };
}

/** The matching messages, if there are enough of them. */
function foundIn(world: Registry, { match, count }: Wait): Waited | undefined {
  const found = newestMatching(world, match, largestPage);
  if (found.count < count) return undefined;
  const messages = found.messages.map((message) => messageRecord(world, message));
  return { count: found.count, messages };
}

function timeout(world: Registry, wait: Wait): OperationRefused {
  return waitTimeout(newestMatching(world, wait.match, 0).count, wait);
}

/** The refusal of a wait for which too few messages matched. Also for the waits of a fleet. */
export function waitTimeout(
  matching: number,
  { count, timeout_ms: timeoutMs, advance }: Omit<Wait, 'match'>,
): OperationRefused {
  const unit = advance ? 'simulated ms' : 'ms';
  const message = `${matching} of ${count} messages matched within ${timeoutMs} ${unit}`;
  return new OperationRefused('timeout', message);
}
