/**
 * A value read from the control port, kept up to date while a component shows it.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type EventKind, onEvents } from './events.ts';
import { Reading } from './reading.ts';

export interface Resource<T> {
  /** The last answer; it stays while the next one is loading. */
  readonly value: T | undefined;
  readonly error: unknown;
  /** Reads it again. */
  readonly refresh: () => void;
}

export interface ResourceOptions {
  /** Events after which it is read again. */
  readonly on?: readonly EventKind[];
  /** How often it is read while the page is visible. */
  readonly everyMs?: number | undefined;
  /** The identity of the value: another key loads another value. */
  readonly key?: string;
}

export function useResource<T>(load: () => Promise<T>, options: ResourceOptions = {}): Resource<T> {
  const { on = [], everyMs, key = '' } = options;
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
    value.value = undefined;
    refresh.current = () => reading.now();
    const ends = on.map((kind) => onEvents(kind, () => reading.soon()));
    const timer =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            if (document.visibilityState === 'visible') reading.now();
          }, everyMs);
    reading.now();
    return () => {
      reading.stop();
      clearInterval(timer);
      for (const end of ends) end();
    };
  }, [key, everyMs]);

  return { value: value.value, error: error.value, refresh: () => refresh.current() };
}
