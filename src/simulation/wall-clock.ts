/**
 * Drives virtual time (`src/sim/clock.ts`): by the wall clock (real or scaled), by a function of
 * the user (bound), or only by operations (manual). A real or scaled clock is advanced at its
 * deadlines (`ticks.ts`) and before each request. A bound clock is read before each use, and
 * sets a timer, which a test may fake, only while something waits for events.
 */
// The global `performance` is behind a getter, which costs more; this is read twice a request.
import { performance } from 'node:perf_hooks';
import { type ClockMode, readBound, type Settings } from '../config/settings.ts';
import { latestTimeMs, type VirtualClock } from '../sim/clock.ts';
import { Ticks } from './ticks.ts';

/** The longest delay of a timer: Node fires one with a longer delay at once. */
export const longestTimerMs = 2 ** 31 - 1;

type ClockSettings = Pick<Settings, 'clock' | 'rate' | 'startTimeMs' | 'boundTo'>;

export class WallClock {
  readonly #clock: () => VirtualClock;
  readonly #settings: ClockSettings;
  readonly #onAnchor: (rate: number) => void;
  /** The function that a bound clock follows. */
  #boundTo: (() => number) | undefined;
  #mover: string | undefined;
  #mode: ClockMode;
  /** The rate of scaled mode, also while another mode is in force. */
  #rate: number;
  // The virtual time was `#anchorVirtualMs` at the wall time `#anchorWallMs`.
  #anchorWallMs = 0;
  #anchorVirtualMs = 0;
  /** What the wall clock, or the function of a bound clock, last showed. */
  #lastReadMs = 0;
  /** True while virtual time must not advance. */
  #isHeld = false;
  readonly #ticks = new Ticks(() => this.#advance());
  /** True while something waits for events. */
  #isWatched = false;
  /** The timer that `arm` has set, and its deadline in virtual time. */
  #wake: { readonly atMs: number; readonly cancel: () => void } | undefined;

  /**
   * Calls `onAnchor` with the rate in force whenever the rate or the virtual clock may have
   * changed.
   */
  constructor(
    clock: () => VirtualClock,
    settings: ClockSettings,
    onAnchor: (rate: number) => void = () => {},
  ) {
    this.#clock = clock;
    this.#settings = settings;
    this.#onAnchor = onAnchor;
    this.#boundTo = settings.boundTo;
    this.#mode = settings.clock;
    this.#rate = settings.rate;
    this.#startOrStopTicks();
    this.anchor();
  }

  static nowMs(): number {
    return Date.now();
  }

  /** Milliseconds of a monotonic clock, for measuring durations. */
  static ticksMs(): number {
    return performance.now();
  }

  /** The start of simulated time for a world with these settings that starts at this moment. */
  static startMs({ clock, startTimeMs, boundTo }: ClockSettings): number {
    if (boundTo !== undefined) return readBound(boundTo);
    return clock === 'manual' ? startTimeMs : WallClock.nowMs();
  }

  get mode(): ClockMode {
    return this.#mode;
  }

  /** The name of the only thing that may move a bound clock: see `follow`. */
  get mover(): string | undefined {
    return this.#mode === 'bound' ? this.#mover : undefined;
  }

  /** Simulated seconds per second: 0 for a manual clock, 1 for a real one. */
  get rate(): number {
    if (this.#mode === 'manual') return 0;
    return this.#mode === 'scaled' ? this.#rate : 1;
  }

  get scaledRate(): number {
    return this.#rate;
  }

  /**
   * Changes the mode; virtual time continues from its present value at the new rate. Without a
   * function to follow, as after a restore in another process, a bound clock acts as a manual one.
   * `sinceMs`: the wall time of that present value, which processes of a fleet agree on.
   */
  setMode(mode: ClockMode, rate: number | undefined, sinceMs?: number): void {
    this.catchUp();
    this.#mode = mode === 'bound' && this.#boundTo === undefined ? 'manual' : mode;
    if (rate !== undefined) this.#rate = rate;
    this.#startOrStopTicks();
    this.anchor();
    if (sinceMs !== undefined) this.#anchorWallMs = sinceMs;
  }

  /**
   * Binds virtual time to `now`, also after a reset. It continues from its present value. `mover`
   * names the only thing that may move it, because a client's clock must move with it.
   */
  follow(now: () => number, mover?: string): void {
    this.#boundTo = now;
    this.#mover = mover;
    this.setMode('bound', undefined);
  }

  /** The start of simulated time if the world is reset at this moment. */
  restartMs(): number {
    return WallClock.startMs({ ...this.#settings, boundTo: this.#boundTo });
  }

  /** Returns to the mode of the start. */
  restart(): void {
    const { clock, rate } = this.#settings;
    this.setMode(this.#boundTo === undefined ? clock : 'bound', rate);
  }

  /** Ties the present virtual time to the present wall time. Call this after a jump or a reset. */
  anchor(): void {
    this.#anchorWallMs = this.#readMs();
    this.#lastReadMs = this.#anchorWallMs;
    this.#anchorVirtualMs = this.#clock().now();
    this.#onAnchor(this.rate);
    this.#ticks.hurry();
    this.arm();
  }

  /**
   * Advances virtual time to match the wall clock. If the wall clock goes back, virtual time does
   * not.
   */
  catchUp(): void {
    if (this.#mode === 'manual' || this.#isHeld) return;
    const readMs = this.#readMs();
    // If a bound clock goes back, virtual time stays, and continues from the earlier reading.
    if (this.#mode === 'bound' && readMs < this.#lastReadMs) this.anchor();
    this.#lastReadMs = readMs;
    const elapsedMs = readMs - this.#anchorWallMs;
    this.#clock().advanceTo(this.#anchorVirtualMs + Math.floor(elapsedMs * this.rate));
    // The caller may set a deadline that is nearer than all others.
    this.#ticks.hurry();
    if (this.#isWatched) this.arm();
  }

  /** Virtual time once it matches the wall clock: between requests it may be a second behind. */
  now(): number {
    this.catchUp();
    return this.#clock().now();
  }

  /** Advances virtual time to match the wall clock, and stops it while `act` runs. */
  atOneMoment<T>(act: () => T): T {
    this.catchUp();
    const wasHeld = this.#isHeld;
    this.#isHeld = true;
    try {
      return act();
    } finally {
      this.#isHeld = wasHeld;
      this.arm();
    }
  }

  /**
   * Stops virtual time until `release`, for the replay of a recorded run, which has its own times.
   */
  hold(): void {
    this.#isHeld = true;
  }

  /** Undoes `hold`. A real or bound clock first catches up; others continue where they stopped. */
  release(): void {
    this.#isHeld = false;
    if (this.#mode === 'real' || this.#mode === 'bound') this.#clock().advanceTo(this.#readMs());
    this.anchor();
  }

  /** `isWatched`: something waits for events, so a bound clock wakes at each deadline. */
  watch(isWatched: boolean): void {
    this.#isWatched = isWatched;
    this.arm();
  }

  /**
   * Sets a timer for the next deadline of a bound clock while something waits for events. Uses the
   * process's current timers, which a test may fake. Call this whenever that deadline may change.
   */
  arm(): void {
    const isNeeded = this.#mode === 'bound' && this.#isWatched && !this.#isHeld;
    const atMs = isNeeded ? this.#clock().nextAtMs : undefined;
    if (atMs === this.#wake?.atMs) return;
    this.#wake?.cancel();
    this.#wake = undefined;
    if (atMs === undefined || atMs > latestTimeMs) return;
    const { setTimeout, clearTimeout } = globalThis;
    const delayMs = Math.min(atMs - this.#clock().now(), longestTimerMs);
    const timer = setTimeout(() => {
      this.#wake = undefined;
      this.catchUp();
      this.arm();
    }, delayMs);
    this.#wake = { atMs, cancel: () => clearTimeout(timer) };
  }

  stop(): void {
    this.#ticks.stop();
    this.watch(false);
  }

  /** Starts the periodic advance for a real or scaled clock; stops it for any other. */
  #startOrStopTicks(): void {
    if (this.#mode === 'real' || this.#mode === 'scaled') this.#ticks.start();
    else this.#ticks.stop();
  }

  /** Advances virtual time; returns the real milliseconds until the next deadline. */
  #advance(): number {
    this.catchUp();
    const { nextAtMs = latestTimeMs, now } = this.#clock();
    return (nextAtMs - now()) / this.rate;
  }

  #readMs(): number {
    return this.#mode === 'bound' && this.#boundTo !== undefined
      ? readBound(this.#boundTo)
      : WallClock.nowMs();
  }
}
