/**
 * The one place that reads the wall clock: it pulls virtual time along, from a short interval and
 * before each request. A manual clock is never pulled.
 */
// Not the global of the same name, which is behind a getter: this is read twice a request.
import { performance } from 'node:perf_hooks';
import type { ClockMode } from '../config/settings.ts';
import type { VirtualClock } from '../sim/clock.ts';

const pumpIntervalMs = 25;

export class WallClock {
  readonly #clock: () => VirtualClock;
  readonly #onAnchor: (rate: number) => void;
  #mode: ClockMode;
  #rate: number;
  #anchorWallMs = 0;
  #anchorVirtualMs = 0;
  #isHeld = false;
  readonly #interval: NodeJS.Timeout;

  /**
   * `rate`: simulated milliseconds per millisecond while the mode is `scaled`. `onAnchor` hears the
   * rate in force whenever that, or the virtual clock, may be another than before.
   */
  constructor(
    clock: () => VirtualClock,
    mode: ClockMode,
    rate: number,
    onAnchor: (rate: number) => void = () => {},
  ) {
    this.#clock = clock;
    this.#onAnchor = onAnchor;
    this.#mode = mode;
    this.#rate = rate;
    this.#interval = setInterval(() => this.pump(), pumpIntervalMs);
    this.#interval.unref();
    this.anchor();
  }

  static nowMs(): number {
    return Date.now();
  }

  /** Milliseconds of a clock that is never set: for what something takes, never for when it is. */
  static ticksMs(): number {
    return performance.now();
  }

  get mode(): ClockMode {
    return this.#mode;
  }

  /** Simulated seconds per second: 1 for a real clock, 0 for a manual one. */
  get rate(): number {
    return this.#mode === 'manual' ? 0 : this.#mode === 'real' ? 1 : this.#rate;
  }

  /** The rate it has when it is scaled. */
  get scaledRate(): number {
    return this.#rate;
  }

  /** Virtual time goes on from where it is, at the new pace. */
  setMode(mode: ClockMode, rate: number | undefined): void {
    this.pump();
    this.#mode = mode;
    if (rate !== undefined) this.#rate = rate;
    this.anchor();
  }

  /** Binds the present of the virtual clock to the present; after a jump or a reset. */
  anchor(): void {
    this.#anchorWallMs = WallClock.nowMs();
    this.#anchorVirtualMs = this.#clock().now();
    this.#onAnchor(this.rate);
  }

  /**
   * Advances virtual time to where the wall clock wants it. A wall clock set back moves nothing.
   */
  pump(): void {
    if (this.#mode === 'manual' || this.#isHeld) return;
    const elapsedMs = WallClock.nowMs() - this.#anchorWallMs;
    this.#clock().advanceTo(this.#anchorVirtualMs + Math.floor(elapsedMs * this.rate));
  }

  /** Virtual time is pulled to the present first, and stands while `act` runs. */
  atOneMoment<T>(act: () => T): T {
    this.pump();
    const wasHeld = this.#isHeld;
    this.#isHeld = true;
    try {
      return act();
    } finally {
      this.#isHeld = wasHeld;
    }
  }

  /** Virtual time is not pulled until `release`: a recorded run brings its own. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Time goes on from where it is; a real clock from the present, if that is later. */
  release(): void {
    this.#isHeld = false;
    if (this.#mode === 'real') this.#clock().advanceTo(WallClock.nowMs());
    this.anchor();
  }

  stop(): void {
    clearInterval(this.#interval);
  }
}
