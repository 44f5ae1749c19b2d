/**
 * What a page shows instead of content: that it loads, that there is none, or why it cannot be
 * shown.
 */
import type { ComponentChildren } from 'preact';
import { errorText } from '../control.ts';
import { FieldMistakes } from '../numbers.ts';

export function Empty(props: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

/** Lines where the content will be, so that nothing jumps when it comes. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading" role="status">
      <span class="hidden">Loading {what}…</span>
      {[70, 90, 55, 80].map((width) => (
        <span class="bone" key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

interface LoadedProps<T> {
  readonly of: { readonly value: T | undefined; readonly error: unknown };
  readonly what: string;
  /** An error shows only while there is no value. */
  readonly isQuiet?: boolean;
  readonly children: (value: NonNullable<T>) => ComponentChildren;
}

/** What shows a value once it is there; until then that it loads, or why it did not. */
export function Loaded<T>({ of, what, isQuiet = false, children }: LoadedProps<T>) {
  const { value, error } = of;
  return (
    <>
      <Failure error={isQuiet && value !== undefined ? undefined : error} />
      {value === undefined || value === null
        ? error === undefined && <Loading what={what} />
        : children(value)}
    </>
  );
}

/** Nothing for undefined, so that it can stand in every form, and for mistakes that fields show. */
export function Failure({ error }: { readonly error: unknown }) {
  if (error === undefined || error instanceof FieldMistakes) return null;
  return (
    <p class="failure" role="alert">
      {errorText(error)}
    </p>
  );
}
