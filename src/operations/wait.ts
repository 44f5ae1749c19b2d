/**
 * Waiting for messages without polling: in simulated time, which is moved forward meanwhile, or in real time,
 * where every status that is written may end the wait.
 */
import { z } from 'zod';
import { latestTimeMs } from '../sim/clock.ts';
import { LeverError } from '../sim/lever-error.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';
import { countMessages, findMessages, largestPage, matchSchema } from './message-query.ts';
import { type MessageRecord, messageRecord, messageRecordSchema } from './messages.ts';

export const waitInputSchema = z.strictObject({
  match: matchSchema.default({}),
  count: z.int().min(1).max(1_000_000).default(1).describe('How many must match.'),
  timeout_ms: z
    .int()
    .min(0)
    .max(365 * 24 * 3_600_000)
    .default(5_000)
    .describe('Real milliseconds; simulated ones with `advance`.'),
  advance: z
    .boolean()
    .default(false)
    .describe('Manual clock only: moves simulated time from one deadline to the next meanwhile.'),
});
export type WaitInput = Readonly<z.input<typeof waitInputSchema>>;
type Wait = Readonly<z.output<typeof waitInputSchema>>;

export const waitedSchema = z.strictObject({
  count: z.int().min(0).describe('How many match.'),
  messages: z.array(messageRecordSchema).describe(`The newest ${largestPage} of them.`),
});
export interface Waited {
  readonly count: number;
  readonly messages: readonly MessageRecord[];
}

/** Waits in real time that are open at once; one more is refused. */
export const mostWaits = 1_000;

/** A longer delay would make the process' own timers fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export class Waits {
  readonly #live: Live;
  /** What ends the waits that are open, should the simulator close. */
  readonly #open = new Set<(error: LeverError) => void>();

  constructor(live: Live) {
    this.#live = live;
  }

  /** Resolves when so many messages match; rejects with `timeout` otherwise. */
  async wait(input: WaitInput): Promise<Waited> {
    const wait = readInput(waitInputSchema, input);
    if (wait.advance) return this.advance(input);
    this.#live.wallClock.pump();
    const found = this.#found(wait);
    if (found !== undefined) return found;
    if (this.#open.size >= mostWaits) {
      throw new LeverError('conflict', `there are ${mostWaits} waits already`);
    }
    return this.#listen(wait);
  }

  /** Moves simulated time on until so many messages match, at once in real time. */
  advance(input: WaitInput): Waited {
    return this.#live.change('messages.wait', [input], () => {
      const wait = readInput(waitInputSchema, input);
      const { wallClock, simulation } = this.#live;
      const { clock } = simulation;
      if (wallClock.mode !== 'manual') {
        throw new LeverError('invalid', 'only a manual clock is advanced by a wait', 'advance');
      }
      const untilMs = Math.min(clock.now() + wait.timeout_ms, latestTimeMs);
      for (;;) {
        const found = this.#found(wait);
        if (found !== undefined) return found;
        if (clock.now() === untilMs) throw this.#timeout(wait);
        clock.advanceTo(Math.min(clock.nextAtMs ?? untilMs, untilMs));
      }
    });
  }

  /** Ends the waits that are open. */
  close(): void {
    for (const end of this.#open) end(new LeverError('conflict', 'the simulator is closing'));
  }

  #listen(wait: Wait): Promise<Waited> {
    return new Promise((resolve, reject) => {
      let isLooking = false;
      const look = () => {
        isLooking = false;
        const found = this.#found(wait);
        if (found === undefined) return;
        end();
        resolve(found);
      };
      const lookSoon = () => {
        // Many steps fall into one turn, and counting is not free: one look at its end serves them all.
        if (isLooking) return;
        isLooking = true;
        queueMicrotask(look);
      };
      const { activity } = this.#live;
      const unlisten = [activity.listen('message', lookSoon), activity.listen('clock', lookSoon)];
      const timer = setTimeout(
        () => {
          const found = this.#found(wait);
          end();
          if (found === undefined) reject(this.#timeout(wait));
          else resolve(found);
        },
        Math.min(wait.timeout_ms, longestTimerMs),
      );
      const abort = (error: LeverError) => {
        end();
        reject(error);
      };
      const end = () => {
        clearTimeout(timer);
        for (const stop of unlisten) stop();
        this.#open.delete(abort);
      };
      this.#open.add(abort);
    });
  }

  #found({ match, count }: Wait): Waited | undefined {
    const { world } = this.#live.simulation;
    const matching = countMessages(world, match);
    if (matching < count) return undefined;
    const { messages } = findMessages(world, match, largestPage);
    return {
      count: matching,
      messages: messages.map((message) => messageRecord(this.#live, message)),
    };
  }

  #timeout({ match, count, timeout_ms: timeoutMs, advance }: Wait): LeverError {
    const matching = countMessages(this.#live.simulation.world, match);
    const kind = advance ? 'simulated ms' : 'ms';
    return new LeverError(
      'timeout',
      `${matching} of ${count} messages matched within ${timeoutMs} ${kind}`,
    );
  }
}
