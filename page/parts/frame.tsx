/** A titled card, and what a card shows in place of content that is loading, empty or failed. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { errorText } from '../control.ts';

interface CardProps {
  readonly title: string;
  /** Shown beside the title, such as buttons. */
  readonly head?: ComponentChildren;
  /** A sentence below the title. */
  readonly lead?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly role?: 'alert';
  readonly 'aria-live'?: 'polite';
}

export function Card(props: CardProps) {
  const { title, head, lead, children, class: className = 'card', ...attributes } = props;
  const id = useId();
  return (
    <section class={className} aria-labelledby={id} {...attributes}>
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

/** Grey lines that take the room of the content, so that the page does not move once it arrives. */
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

/** `what`: named to screen readers as loading. `isQuiet`: hides an error once there is a value. */
type LoadedProps<T> = Readonly<{
  resource: Readonly<{ value: T | undefined; error?: unknown }>;
  what: string;
  isQuiet?: boolean;
  children: (value: NonNullable<T>) => ComponentChildren;
}>;

/** Shows a value once it is loaded; until then a loading notice or the error. */
export function Loaded<T>({ resource, what, isQuiet = false, children }: LoadedProps<T>) {
  const { value, error } = resource;
  return (
    <>
      <Failure error={isQuiet && value !== undefined ? undefined : error} />
      {value === undefined || value === null
        ? error === undefined && <Loading what={what} />
        : children(value)}
    </>
  );
}

/** The message of an error; renders nothing for undefined. */
export function Failure({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  return (
    <p class="failure" role="alert">
      {errorText(error)}
    </p>
  );
}
