/**
 * A value of the control port that stays up to date: it is read again after events, one request at
 * a time and with pauses between requests. `useReply` and `useResource` hold one for a component.
 */
import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Arguments, call, lastWriteMs, type OperationName, type Reply } from './control.ts';
import { type EventKind, onEvents } from './events.ts';

/** Events within this time share one read. */
const eventGroupMs = 120;
/** The least time between the starts of two reads that events cause. */
const leastPeriodMs = 2_000;
/** True while more requests come than a user can follow; the least time is then doubled. */
export const isFlooded = signal(false);
/**
 * The pause after a read lasts this many times as long as the read, but at most `longestPauseMs`:
 * the CPU is for the simulator's clients.
 */
const pausePerRead = 100;
const longestPauseMs = 5_000;

/** This long after this page changed something, reads do not pause: the outcome shows at once. */
const writeOutcomeMs = 1_000;

/** Runs one read at a time. Requests during a read cause one more read after it. */
export class Resource<T> {
  /** The last answer; it stays while the next one is loading. */
  readonly value = signal<T | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly #load: () => Promise<T>;
  /** Set from an event until the next read starts, also on a hidden page: later events join it. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #followers = 0;
  #isReading = false;
  #isRequestedAgain = false;
  #pauseUntilMs = 0;
  #unsubscribers: (() => void)[] = [];

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /**
   * Reads now, and until its last follower has left after events of these kinds; if there are any
   * kinds, also after this page changed something.
   */
  follow(kinds: readonly EventKind[]): () => void {
    if (this.#followers++ === 0) {
      this.#unsubscribers = kinds.map((kind) => onEvents(kind, () => this.readSoon()));
      if (kinds.length > 0) this.#unsubscribers.push(lastWriteMs.subscribe(this.#readAfterWrite));
      this.readNow();
    }
    return () => {
      if (--this.#followers > 0) return;
      this.#clearTimer();
      for (const unsubscribe of this.#unsubscribers) unsubscribe();
    };
  }

  /** Replaces a read that is due later, so that the outcome of a write shows at once. */
  readonly #readAfterWrite = (): void => {
    this.#clearTimer();
    this.readSoon();
  };

  readonly readNow = (): void => {
    this.#clearTimer();
    void this.#read();
  };

  /** Reads after the pause, because of an event. */
  readSoon(): void {
    if (this.#followers === 0) return;
    const nowMs = performance.now();
    const isAfterWrite = nowMs - lastWriteMs.peek() < writeOutcomeMs;
    const pauseLeftMs = isAfterWrite ? 0 : this.#pauseUntilMs - nowMs;
    const delayMs = Math.max(eventGroupMs, pauseLeftMs);
    this.#timer ??= setTimeout(() => this.#readWhenVisible(), delayMs);
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** A hidden page does not read; it reads once it is visible again. */
  #readWhenVisible(): void {
    if (document.visibilityState === 'visible') this.readNow();
    else document.addEventListener('visibilitychange', this.readNow, { once: true });
  }

  async #read(): Promise<void> {
    if (this.#followers === 0) return;
    if (this.#isReading) {
      this.#isRequestedAgain = true;
      return;
    }
    this.#isReading = true;
    const startedMs = performance.now();
    try {
      this.value.value = await this.#load();
      this.error.value = undefined;
    } catch (error) {
      this.error.value = error;
    }
    this.#isReading = false;
    const endedMs = performance.now();
    const pauseMs = Math.min(longestPauseMs, pausePerRead * (endedMs - startedMs));
    const periodMs = isFlooded.peek() ? 2 * leastPeriodMs : leastPeriodMs;
    this.#pauseUntilMs = Math.max(startedMs + periodMs, endedMs + pauseMs);
    if (this.#isRequestedAgain) {
      this.#isRequestedAgain = false;
      this.readSoon();
    }
  }
}

interface ResourceOptions<T> {
  /** How often it is read while the page is visible; undefined: only after events. */
  readonly everyMs?: (value: T | undefined) => number | undefined;
  /** The identity of the value: another key loads another value. */
  readonly key?: string;
  /** True if the last value is shown while that of another key is loading. */
  readonly keepsLastValue?: boolean;
}

/** The reply to an operation while the component is shown; other arguments load another reply. */
export function useReply<Name extends OperationName>(
  name: Name,
  args: Arguments<Name>,
  rereadAfter?: readonly EventKind[],
  options?: ResourceOptions<Reply<Name>>,
) {
  const key = JSON.stringify(args);
  return useResource(() => call(name, ...args), rereadAfter, { key, ...options });
}

/**
 * The value and error of a resource while the component is shown. Events of the kinds
 * `rereadAfter`, which a component must not change, read it again.
 */
export function useResource<T>(
  load: () => Promise<T>,
  rereadAfter: readonly EventKind[] = [],
  { key = '', keepsLastValue = false, everyMs }: ResourceOptions<T> = {},
) {
  const latestLoad = useRef(load);
  latestLoad.current = load;
  const previous = useRef<Resource<T> | undefined>(undefined);
  const resource = useMemo(() => {
    const next = new Resource(() => latestLoad.current());
    if (keepsLastValue) next.value.value = previous.current?.value.peek();
    previous.current = next;
    return next;
  }, [key]);
  useEffect(() => resource.follow(rereadAfter), [resource]);
  const { value } = resource.value;
  const periodMs = everyMs?.(value);
  useEffect(() => {
    if (periodMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') resource.readNow();
    }, periodMs);
    return () => clearInterval(timer);
  }, [periodMs, resource]);
  return { value, error: resource.error.value };
}

const typingPauseMs = 100;

/** The text, once it has not changed for `typingPauseMs`. */
export function useSettled(text: string): string {
  const settled = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => (settled.value = text), typingPauseMs);
    return () => clearTimeout(timer);
  }, [text, settled]);
  return settled.value;
}
