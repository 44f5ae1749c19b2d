/**
 * A value of the control port that is read again after events, at most once at a time and with pauses
 * between readings; for components, while they show it.
 */
import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type EventKind, onEvents } from './events.ts';

/** Events within this time share one reading. */
const settleMs = 120;
/** The least time from the start of a reading to the next one that an event causes. */
const restMs = 1_500;
/**
 * A pause lasts at least this many times as long as the reading before it, but at most
 * `longestRestMs`: the CPU is for the simulator's clients.
 */
const pausePerReading = 40;
const longestRestMs = 15_000;

/** After an act of the user, readings do not rest for so long: its outcome shows everywhere at once. */
const actMs = 1_000;
/** Of the page, not of one reading: an action may change what any reading shows. */
let lastActMs = Number.NEGATIVE_INFINITY;

export function noteUserAction(): void {
  lastActMs = performance.now();
}

/** Runs one reading at a time. Requests during a reading cause one more reading after it. */
export class Reading<T> {
  /** The last answer; it stays while the next one is loading. */
  readonly value = signal<T | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly #load: () => Promise<T>;
  /**
   * Set from the first event until the next reading starts, also while a hidden page waits: later
   * events join it.
   */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #followers = 0;
  #isRunning = false;
  #isRequestedAgain = false;
  #restUntilMs = 0;
  #ends: readonly (() => void)[] = [];

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /** Reads now, and after events of these kinds until its last follower has left. */
  follow(kinds: readonly EventKind[]): () => void {
    if (this.#followers++ === 0) {
      this.#ends = kinds.map((kind) => onEvents(kind, () => this.soon()));
      this.now();
    }
    return () => {
      if (--this.#followers > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      for (const end of this.#ends) end();
    };
  }

  /** Reads because the user asked. */
  now(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    void this.#run();
  }

  /** Reads because of an event. */
  soon(): void {
    if (this.#followers === 0) return;
    const nowMs = performance.now();
    const restLeftMs = nowMs - lastActMs < actMs ? 0 : this.#restUntilMs - nowMs;
    const delayMs = Math.max(settleMs, restLeftMs);
    this.#timer ??= setTimeout(() => this.#readWhenVisible(), delayMs);
  }

  /** A hidden page does not read; it reads once it is visible again. */
  #readWhenVisible(): void {
    if (document.visibilityState === 'visible') this.now();
    else document.addEventListener('visibilitychange', () => this.now(), { once: true });
  }

  async #run(): Promise<void> {
    if (this.#followers === 0) return;
    if (this.#isRunning) {
      this.#isRequestedAgain = true;
      return;
    }
    this.#isRunning = true;
    const startedMs = performance.now();
    try {
      this.value.value = await this.#load();
      this.error.value = undefined;
    } catch (error) {
      this.error.value = error;
    }
    this.#isRunning = false;
    const endedMs = performance.now();
    const longRestMs = Math.min(longestRestMs, pausePerReading * (endedMs - startedMs));
    this.#restUntilMs = Math.max(startedMs + restMs, endedMs + longRestMs);
    if (this.#isRequestedAgain) {
      this.#isRequestedAgain = false;
      this.soon();
    }
  }
}

interface ResourceOptions<T> {
  /** Events after which it is read again. */
  readonly on?: readonly EventKind[];
  /** How often it is read while the page is visible; undefined: only after events. */
  readonly everyMs?: (value: T | undefined) => number | undefined;
  /** The identity of the value: another key loads another value. */
  readonly key?: string;
  /** True if the last value is shown while that of another key is loading. */
  readonly keeps?: boolean;
}

/** `refresh` reads it again. */
export function useResource<T>(load: () => Promise<T>, options: ResourceOptions<T> = {}) {
  const { on = [], key = '', keeps = false } = options;
  const latestLoad = useRef(load);
  latestLoad.current = load;
  const last = useRef<Reading<T> | undefined>(undefined);
  const reading = useMemo(() => {
    const next = new Reading(() => latestLoad.current());
    if (keeps) next.value.value = last.current?.value.peek();
    last.current = next;
    return next;
  }, [key]);
  // A component passes the same kinds at every call.
  useEffect(() => reading.follow(on), [reading]);
  const { value } = reading.value;
  const everyMs = options.everyMs?.(value);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reading.now();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reading]);
  return { value, error: reading.error.value, refresh: () => reading.now() };
}

const typingPauseMs = 100;

/** The text, once it has not changed for a moment. */
export function useSettled(text: string): string {
  const settled = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      settled.value = text;
    }, typingPauseMs);
    return () => clearTimeout(timer);
  }, [text, settled]);
  return settled.value;
}
