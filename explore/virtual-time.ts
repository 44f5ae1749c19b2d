/**
 * Virtual time for a client in this process: it replaces the timers and `Date`, and moves to the
 * next timer when the client has nothing else to do.
 */
import fakeTimers from '@sinonjs/fake-timers';
import {
  areTimersFake,
  fakeRestOfTime,
  realTimers,
  untilQuiet,
} from '#src/testing/rest-of-time.ts';

/** Real milliseconds between two checks of a client that waits for no timer. */
const checkEveryMs = 1;
/** A client that waits for a reply without a timer counts as hung after this real time. */
const mostHungMs = 20;
/** A client that waits for something else, for example a file, counts as hung after this time. */
const mostIdleMs = 5_000;

/** A client that runs on virtual time. */
interface RunningClient {
  readonly isOver: () => boolean;
  /** True if the client waits for a reply. */
  readonly isWaiting: () => boolean;
}

/** Replaces the timers of this process until `end` is called. */
export class VirtualTime {
  readonly #clock: fakeTimers.Clock;
  #fired = 0;
  /** Restores the process's own timers and `Date`. */
  readonly end: () => void;

  constructor(startMs: number) {
    if (areTimersFake())
      throw new Error('explore fakes the timers itself: call vi.useRealTimers() before it');
    this.#clock = fakeTimers.install({
      now: startMs,
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'Date',
        'performance',
        'hrtime',
      ],
    });
    this.end = fakeRestOfTime(() => this.#clock.uninstall());
  }

  /** How many timers have fired. */
  get fired(): number {
    return this.#fired;
  }

  /**
   * Moves time from timer to timer. Resolves to true when the client has ended, and to false if it
   * has not after `timeoutMs`, or waits for something that cannot happen.
   */
  async run({ isOver, isWaiting }: RunningClient, timeoutMs: number): Promise<boolean> {
    const endMs = this.#clock.now + timeoutMs;
    let idleTurns = 0;
    for (;;) {
      await untilQuiet(isOver);
      if (isOver()) return true;
      if (this.#clock.countTimers() > 0) {
        idleTurns = 0;
        this.#fired++;
        await this.#clock.nextAsync();
        if (this.#clock.now > endMs) return false;
      } else {
        idleTurns++;
        if (idleTurns * checkEveryMs > (isWaiting() ? mostHungMs : mostIdleMs)) return false;
        await new Promise((resolve) => realTimers.setTimeout(resolve, checkEveryMs));
      }
    }
  }
}
