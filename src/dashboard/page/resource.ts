/**
 * A value read from the control port, kept up to date while a component shows it.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { EventKind } from './events.ts';
import { Reading } from './reading.ts';

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
