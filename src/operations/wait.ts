/**
 * Waits for messages without polling: in simulated time, which it moves forward, or in real time,
 * where every status change may end the wait.
 */
import { z } from 'zod';
import { latestTimeMs } from '../sim/clock.ts';
import { OperationRefused, refuseMore } from '../sim/operation-refused.ts';
import type { World } from '../sim/world.ts';
import { longestTimerMs, WallClock } from '../simulation/wall-clock.ts';
import type { Live } from './live.ts';
import { largestPage, matchIn, matchSchema, newestMatching } from './message-query.ts';
import { messageRecord, messageRecordSchema } from './message-record.ts';

export const waitInputSchema = z
  .strictObject({
    match: matchSchema.default({}),
    count: z.int().min(1).max(1_000_000).default(1).describe('The number of messages to wait for.'),
    timeout_ms: z
      .int()
      .min(0)
      .max(365 * 24 * 3_600_000)
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

/** Counting a million messages takes longer than this. */
const longLookMs = 1;
const pausePerLook = 20;

/** Moves simulated time forward, synchronously, until enough messages match. */
export function advanceUntil({ wallClock, simulation }: Live, given: Wait): Waited {
  const { clock, world } = simulation;
  const wait = withAccountId(world, given);
  if (wallClock.mode !== 'manual') {
    throw new OperationRefused('invalid', 'advance needs a manual clock', 'advance');
  }
  const untilMs = Math.min(clock.now() + wait.timeout_ms, latestTimeMs);
  for (;;) {
    const found = foundIn(world, wait);
    if (found !== undefined) return found;
    if (clock.now() === untilMs) throw timeout(world, wait, 'simulated ms');
    clock.advanceTo(Math.min(clock.nextAtMs ?? untilMs, untilMs));
  }
}

/** Resolves when enough messages match; rejects with `timeout` otherwise. */
export function waitFor(live: Live, given: Wait): Promise<Waited> {
  const wait = withAccountId(live.simulation.world, given);
  return new Promise((resolve, reject) => {
    const already = foundIn(live.simulation.world, wait);
    if (already !== undefined) {
      resolve(already);
      return;
    }
    const abort = (error: OperationRefused) => {
      end();
      reject(error);
    };
    refuseMore(live.waits.size, mostWaits, 'waits');
    live.waits.add(abort);
    let isLooking = false;
    let lookTookMs = 0;
    let later: NodeJS.Timeout | undefined;
    const look = () => {
      isLooking = false;
      const startedMs = WallClock.ticksMs();
      const found = foundIn(live.simulation.world, wait);
      lookTookMs = WallClock.ticksMs() - startedMs;
      if (found === undefined) return;
      end();
      resolve(found);
    };
    const lookSoon = () => {
      // One look at the end of a turn covers all its steps. A long look is followed by a longer
      // pause, so that waits take a small share of a busy service's time.
      if (isLooking) return;
      isLooking = true;
      if (lookTookMs < longLookMs) void Promise.resolve().then(look);
      else later = setTimeout(look, lookTookMs * pausePerLook);
    };
    const { activity } = live;
    const unlisten = [activity.watch(lookSoon), activity.listen('clock', lookSoon)];
    // The current ones: a test may fake them, or restore the real ones later.
    const { setTimeout, clearTimeout } = globalThis;
    const timer = setTimeout(
      () => {
        live.wallClock.pump();
        look();
        abort(timeout(live.simulation.world, wait, 'ms'));
      },
      Math.min(wait.timeout_ms, longestTimerMs),
    );
    const end = () => {
      clearTimeout(timer);
      clearTimeout(later);
      for (const stop of unlisten) stop();
      live.waits.delete(abort);
    };
  });
}

function withAccountId(world: World, wait: Wait): Wait {
  return { ...wait, match: matchIn(world, wait.match) };
}

function foundIn(world: World, { match, count }: Wait): Waited | undefined {
  const found = newestMatching(world, match, largestPage);
  if (found.count < count) return undefined;
  const messages = found.messages.map((message) => messageRecord(world, message));
  return { count: found.count, messages };
}

function timeout(
  world: World,
  { match, count, timeout_ms: timeoutMs }: Wait,
  unit: string,
): OperationRefused {
  const { count: matching } = newestMatching(world, match, 0);
  const message = `${matching} of ${count} messages matched within ${timeoutMs} ${unit}`;
  return new OperationRefused('timeout', message);
}
