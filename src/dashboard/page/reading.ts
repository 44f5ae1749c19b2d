/**
 * A value of the control port that is read again after events, at most once at a time and with pauses
 * between readings; for components, while they show it.
 */
import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type EventKind, onEvents } from './events.ts';

/** Events within this time share one reading. */
const settleMs = 120;
/**
 * The pause between readings that events cause. Readings also take at most a fortieth of the time,
 * as the simulator's CPU is for its clients, unless the pause would be longer than `longestRestMs`.
 */
const restMs = 1_500;
const restTimes = 40;
const longestRestMs = 15_000;

/** After an act of the user, readings do not rest for so long: its outcome shows everywhere at once. */
const actMs = 1_000;
let lastActMs = Number.NEGATIVE_INFINITY;

export function noteAct(): void {
  lastActMs = performance.now();
}

/** Runs one reading at a time. Requests during a reading cause one more reading after it. */
export class Reading<T> {
  /** The last answer; it stays while the next one is loading. */
  readonly value = signal<T | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly #load: () => Promise<T>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #followers = 0;
  #runs = false;
  #again = false;
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
    this.#timer ??= setTimeout(() => this.#onceSeen(), delayMs);
  }

  /** A hidden page does not read; it reads once it is visible again. */
  #onceSeen(): void {
    if (document.visibilityState === 'visible') this.now();
    else document.addEventListener('visibilitychange', () => this.now(), { once: true });
  }

  async #run(): Promise<void> {
    if (this.#followers === 0) return;
    if (this.#runs) {
      this.#again = true;
      return;
    }
    this.#runs = true;
    const startedMs = performance.now();
    try {
      this.value.value = await this.#load();
      this.error.value = undefined;
    } catch (error) {
      this.error.value = error;
    }
    this.#runs = false;
    const endedMs = performance.now();
    const longRestMs = Math.min(longestRestMs, restTimes * (endedMs - startedMs));
    this.#restUntilMs = Math.max(startedMs + restMs, endedMs + longRestMs);
    if (this.#again) {
      this.#again = false;
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
