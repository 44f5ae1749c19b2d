/**
 * What moves virtual time: the wall clock, a function of the user's (a *bound* clock), or only the
 * user (a manual clock). A running clock is pulled along from a short interval and before each
 * request; a bound one is read only when it is used, so fake timers see no timer of ours.
 */
// Not the global of the same name, which is behind a getter: this is read twice a request.
import { performance } from 'node:perf_hooks';
import { type ClockMode, readBound, type Settings } from '../config/settings.ts';
import { latestTimeMs, type VirtualClock } from '../sim/clock.ts';
import { eachTick } from './ticks.ts';

/** A longer delay would make the process' own timers fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

type ClockSettings = Pick<Settings, 'clock' | 'rate' | 'startTimeMs' | 'boundTo'>;

export class WallClock {
  readonly #clock: () => VirtualClock;
  readonly #settings: ClockSettings;
  readonly #onAnchor: (rate: number) => void;
  #boundTo: (() => number) | undefined;
  #mode: ClockMode;
  #rate: number;
  #anchorWallMs = 0;
  #anchorVirtualMs = 0;
  #isHeld = false;
  #stopTicks: (() => void) | undefined;
  #isWatched = false;
  /** The deadline that a timer waits for while there is a reader, and what ends that timer. */
  #wake: { readonly atMs: number; readonly cancel: () => void } | undefined;

  /**
   * `onAnchor` hears the rate in force whenever that, or the virtual clock, may be another than
   * before.
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

  /** Milliseconds of a clock that is never set: for what something takes, never for when it is. */
  static ticksMs(): number {
    return performance.now();
  }

  /** Where simulated time starts now. */
  static startMs({ clock, startTimeMs, boundTo }: ClockSettings): number {
    if (boundTo !== undefined) return readBound(boundTo);
    return clock === 'manual' ? startTimeMs : WallClock.nowMs();
  }

  get mode(): ClockMode {
    return this.#mode;
  }

  /** Simulated seconds per second: 0 for a manual clock, 1 for one that keeps step. */
  get rate(): number {
    return this.#mode === 'manual' ? 0 : this.#mode === 'scaled' ? this.#rate : 1;
  }

  /** The rate it has when it is scaled. */
  get scaledRate(): number {
    return this.#rate;
  }

  /**
   * Virtual time goes on from where it is, at the new pace. Without a function to follow, as after
   * a restore in another process, a bound clock is a manual one.
   */
  setMode(mode: ClockMode, rate: number | undefined): void {
    this.pump();
    this.#mode = mode === 'bound' && this.#boundTo === undefined ? 'manual' : mode;
    if (rate !== undefined) this.#rate = rate;
    this.#run();
    this.anchor();
  }

  /** Virtual time goes on from where it is and follows `now`, also after a reset. */
  follow(now: () => number): void {
    this.#boundTo = now;
    this.setMode('bound', undefined);
  }

  /** Where simulated time starts after a reset. */
  startMs(): number {
    return WallClock.startMs({ ...this.#settings, boundTo: this.#boundTo });
  }

  /** Back to the mode of the start. */
  restart(): void {
    const { clock, rate } = this.#settings;
    this.setMode(this.#boundTo === undefined ? clock : 'bound', rate);
  }

  /** Binds the present of the virtual clock to the present; after a jump or a reset. */
  anchor(): void {
    this.#anchorWallMs = this.#readMs();
    this.#anchorVirtualMs = this.#clock().now();
    this.#onAnchor(this.rate);
    this.arm();
  }

  /**
   * Advances virtual time to where the wall clock wants it. A wall clock set back moves nothing.
   */
  pump(): void {
    if (this.#mode === 'manual' || this.#isHeld) return;
    const readMs = this.#readMs();
    // An earlier time of a bound clock counts as no time passed; later ones count from there.
    if (this.#mode === 'bound' && readMs < this.#anchorWallMs) this.anchor();
    const elapsedMs = readMs - this.#anchorWallMs;
    this.#clock().advanceTo(this.#anchorVirtualMs + Math.floor(elapsedMs * this.rate));
    if (this.#isWatched) this.arm();
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
      this.arm();
    }
  }

  /** Virtual time is not pulled until `release`: a recorded run brings its own. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Time goes on from where it is; a real or bound clock from the present, if that is later. */
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
   * On a bound clock with a reader: sets a timer for the next deadline, on the timers that the
   * process has now, so that fake ones wake the reader. Called when that deadline may be another.
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
    this.#stopTicks?.();
    this.watch(false);
  }

  /** Only time that runs by itself needs to be pulled along. */
  #run(): void {
    this.#stopTicks?.();
    const runs = this.#mode === 'real' || this.#mode === 'scaled';
    this.#stopTicks = runs ? eachTick(() => this.pump()) : undefined;
  }

  #readMs(): number {
    return this.#mode === 'bound' && this.#boundTo !== undefined
      ? readBound(this.#boundTo)
      : WallClock.nowMs();
  }
}
