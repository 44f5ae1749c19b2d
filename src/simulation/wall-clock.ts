/**
 * Drives virtual time: by the wall clock, by a function of the user (a *bound* clock), or only by
 * the user (a manual clock). A running clock is advanced at its deadlines (`tick-wheel.ts`) and
 * before each request. A bound one is read when it is used, and sets a (fake) timer only while
 * something waits for events.
 */
// Not the global of the same name, which is behind a getter: this is read twice a request.
import { performance } from 'node:perf_hooks';
import { type ClockMode, readBound, type Settings } from '../config/settings.ts';
import { latestTimeMs, type VirtualClock } from '../sim/clock.ts';
import { TickListener } from './tick-wheel.ts';

/** A longer delay would make the process's own timers fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

type ClockSettings = Pick<Settings, 'clock' | 'rate' | 'startTimeMs' | 'boundTo'>;

export class WallClock {
  readonly #clock: () => VirtualClock;
  readonly #settings: ClockSettings;
  readonly #onAnchor: (rate: number) => void;
  #boundTo: (() => number) | undefined;
  #mover: string | undefined;
  #mode: ClockMode;
  #rate: number;
  #anchorWallMs = 0;
  #anchorVirtualMs = 0;
  #isHeld = false;
  readonly #ticks = new TickListener(() => this.#advance());
  #isWatched = false;
  /** The timer for the next deadline, set while there is a reader, and its deadline. */
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
    this.#run();
    this.anchor();
  }

  static nowMs(): number {
    return Date.now();
  }

  /** Milliseconds of a monotonic clock, for measuring durations. */
  static ticksMs(): number {
    return performance.now();
  }

  /** The start of simulated time, if it started now. */
  static startMs({ clock, startTimeMs, boundTo }: ClockSettings): number {
    if (boundTo !== undefined) return readBound(boundTo);
    return clock === 'manual' ? startTimeMs : WallClock.nowMs();
  }

  get mode(): ClockMode {
    return this.#mode;
  }

  /** What alone may move a bound clock. */
  get mover(): string | undefined {
    return this.#mode === 'bound' ? this.#mover : undefined;
  }

  /** Simulated seconds per second: 0 for a manual clock, 1 for a real one. */
  get rate(): number {
    if (this.#mode === 'manual') return 0;
    return this.#mode === 'scaled' ? this.#rate : 1;
  }

  /** The rate in scaled mode. */
  get scaledRate(): number {
    return this.#rate;
  }

  /**
   * Changes the mode; virtual time continues from the present at the new rate. Without a function
   * to follow, as after a restore in another process, a bound clock acts as a manual one. `sinceMs`:
   * the real time at which it is the present; several processes so share one line of time.
   */
  setMode(mode: ClockMode, rate: number | undefined, sinceMs?: number): void {
    this.pump();
    this.#mode = mode === 'bound' && this.#boundTo === undefined ? 'manual' : mode;
    if (rate !== undefined) this.#rate = rate;
    this.#run();
    this.anchor();
    if (sinceMs !== undefined) this.#anchorWallMs = sinceMs;
  }

  /**
   * Virtual time continues from the present and follows `now`, also after a reset. `mover`: what
   * alone may move it, because it moves a client with it.
   */
  follow(now: () => number, mover?: string): void {
    this.#boundTo = now;
    this.#mover = mover;
    this.setMode('bound', undefined);
  }

  /** The start of simulated time after a reset. */
  startMs(): number {
    return WallClock.startMs({ ...this.#settings, boundTo: this.#boundTo });
  }

  /** Returns to the mode of the start. */
  restart(): void {
    const { clock, rate } = this.#settings;
    this.setMode(this.#boundTo === undefined ? clock : 'bound', rate);
  }

  /** Ties the current virtual time to the current real time; called after a jump or a reset. */
  anchor(): void {
    this.#anchorWallMs = this.#readMs();
    this.#anchorVirtualMs = this.#clock().now();
    this.#onAnchor(this.rate);
    this.#ticks.hurry();
    this.arm();
  }

  /**
   * Advances virtual time to match the wall clock. If the wall clock goes back, virtual time does
   * not.
   */
  pump(): void {
    if (this.#mode === 'manual' || this.#isHeld) return;
    const readMs = this.#readMs();
    // An earlier time of a bound clock counts as no time passed; later times count from there.
    if (this.#mode === 'bound' && readMs < this.#anchorWallMs) this.anchor();
    const elapsedMs = readMs - this.#anchorWallMs;
    this.#clock().advanceTo(this.#anchorVirtualMs + Math.floor(elapsedMs * this.rate));
    // What follows may set a deadline that is nearer than all others.
    this.#ticks.hurry();
    if (this.#isWatched) this.arm();
  }

  /** Advances virtual time to the present, and stops it while `act` runs. */
  atOneMoment<T>(act: () => T): T {
    this.pump();
    const wasHeld = this.#isHeld;
    this.#isHeld = true;
    try {
      return act();
    } finally {
      this.#isHeld = wasHeld;
      this.arm();
    }
  }

  /** Stops advancing virtual time until `release`: a recorded run has its own times. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Time continues from where it is; a real or bound clock from the present, if that is later. */
  release(): void {
    this.#isHeld = false;
    if (this.#mode === 'real' || this.#mode === 'bound') this.#clock().advanceTo(this.#readMs());
    this.anchor();
  }

  /** While there is a reader of events, a bound clock wakes at each deadline: see `arm`. */
  watch(isWatched: boolean): void {
    this.#isWatched = isWatched;
    this.arm();
  }

  /**
   * On a bound clock with a reader, sets a timer for the next deadline. Uses the process's current
   * timers, so that fake ones wake the reader. Called whenever that deadline may change.
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
      this.pump();
      this.arm();
    }, delayMs);
    this.#wake = { atMs, cancel: () => clearTimeout(timer) };
  }

  stop(): void {
    this.#ticks.stop();
    this.watch(false);
  }

  /** Only time that runs by itself needs a periodic advance. */
  #run(): void {
    if (this.#mode === 'real' || this.#mode === 'scaled') this.#ticks.start();
    else this.#ticks.stop();
  }

  /** Returns the real time until the next deadline. */
  #advance(): number {
    this.pump();
    const { nextAtMs = latestTimeMs, now } = this.#clock();
    return (nextAtMs - now()) / this.rate;
  }

  #readMs(): number {
    return this.#mode === 'bound' && this.#boundTo !== undefined
      ? readBound(this.#boundTo)
      : WallClock.nowMs();
  }
}
