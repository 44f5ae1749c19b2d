/**
 * The frame of a part of a page, and notices in place of its content: it is loading, it is empty, or
 * it cannot be shown.
 */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { errorText } from '../control.ts';

interface CardProps {
  readonly title: string;
  /** What stands beside the title. */
  readonly head?: ComponentChildren;
  /** A sentence below the title. */
  readonly lead?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly role?: 'alert';
  readonly 'aria-live'?: 'polite';
}

export function Card({ title, head, lead, children, class: kind = 'card', ...more }: CardProps) {
  const id = useId();
  return (
    <section class={kind} aria-labelledby={id} {...more}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {head}
      </div>
      {lead !== undefined && <p class="dim lead">{lead}</p>}
      {children}
    </section>
  );
}

export function Empty(props: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children !== undefined && <p>{props.children}</p>}
    </div>
  );
}

/** Grey lines in place of the content, so that the page does not move when it arrives. */
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

/** Shows a value once it is loaded; until then a loading notice or the error. */
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

/** Renders nothing for undefined. */
export function Failure({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  return (
    <p class="failure" role="alert">
      {errorText(error)}
    </p>
  );
}
