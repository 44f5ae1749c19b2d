/**
 * A value read from the control port, kept up to date while a component shows it.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { EventKind } from './events.ts';
import { Reading } from './reading.ts';

interface ResourceOptions {
  /** Events after which it is read again. */
  readonly on?: readonly EventKind[];
  /** How often it is read while the page is visible; undefined: only after events. */
  readonly everyMs?: number | undefined;
  /** The identity of the value: another key loads another value. */
  readonly key?: string;
  /** True if the last value is shown while that of another key is loading. */
  readonly keeps?: boolean;
}

/** `value`: the last answer; it stays while the next one is loading. `refresh` reads it again. */
export function useResource<T>(load: () => Promise<T>, options: ResourceOptions = {}) {
  const { on = [], everyMs, key = '', keeps = false } = options;
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const refresh = useRef<() => void>(() => {});
  const latestLoad = useRef(load);
  latestLoad.current = load;

  // A component passes the same kinds at every call.
  useEffect(() => {
    const reading = new Reading(
      () => latestLoad.current(),
      (read) => {
        value.value = read;
        error.value = undefined;
      },
      (failure) => {
        error.value = failure;
      },
    );
    if (!keeps) value.value = undefined;
    refresh.current = () => reading.now();
    reading.follow(on);
    return () => reading.stop();
  }, [key]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refresh.current();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  return { value: value.value, error: error.value, refresh: () => refresh.current() };
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
