/**
 * Virtual time: replaces the timers and `Date` of the process, so that a client that waits a minute
 * costs no time. Moves to the next timer when the client has nothing else to do.
 */
import { syncBuiltinESMExports } from 'node:module';
import realTimers from 'node:timers';
import fakeTimers from '@sinonjs/fake-timers';

// Read at load time, because the module's functions are replaced while time is virtual.
const { setImmediate, setTimeout } = realTimers;
const platformTimeout = AbortSignal.timeout;

/** Turns of the event loop in which a client may act on what it got, before time moves on. */
const quietTurns = 3;
/** Real milliseconds between two checks of a client that waits for no timer. */
const idleMs = 1;
/** A client that waits for a reply without a timer counts as hung after this real time. */
const mostHungMs = 20;
/** The same for a client that waits for something else, for example a file. */
const mostIdleMs = 5_000;

export interface Work {
  readonly isOver: () => boolean;
  /** True if the client waits for a reply. */
  readonly isWaiting: () => boolean;
}

export class VirtualTime {
  readonly #clock: fakeTimers.Clock;

  /** Throws if other fake timers are installed. */
  constructor(startMs: number) {
    if ('clock' in globalThis.setTimeout || 'clock' in globalThis.Date) {
      throw new Error('explore fakes the timers itself: call vi.useRealTimers() before it');
    }
    this.#clock = fakeTimers.install({
      now: startMs,
      toFake: [
        ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const),
        ...(['Date', 'performance', 'hrtime'] as const),
      ],
    });
    AbortSignal.timeout = timeoutSignal;
    syncBuiltinESMExports();
  }

  end(): void {
    this.#clock.uninstall();
    AbortSignal.timeout = platformTimeout;
    syncBuiltinESMExports();
  }

  /**
   * Moves time from timer to timer. Resolves to true when the work is over, and to false if it is
   * not over after `timeoutMs`, or waits for something that cannot happen.
   */
  async run({ isOver, isWaiting }: Work, timeoutMs: number): Promise<boolean> {
    const endMs = this.#clock.now + timeoutMs;
    let idleTurns = 0;
    for (;;) {
      for (let turns = 0; turns < quietTurns && !isOver(); turns++) await nextTurn();
      if (isOver()) return true;
      if (this.#clock.countTimers() > 0) {
        idleTurns = 0;
        await this.#clock.nextAsync();
        if (this.#clock.now > endMs) return false;
      } else {
        if (++idleTurns * idleMs > (isWaiting() ? mostHungMs : mostIdleMs)) return false;
        await new Promise((resolve) => setTimeout(resolve, idleMs));
      }
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Replaces `AbortSignal.timeout`, which counts real time even when timers are replaced. */
function timeoutSignal(delayMs: number): AbortSignal {
  const controller = new AbortController();
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  globalThis.setTimeout(() => controller.abort(reason), delayMs);
  return controller.signal;
}
