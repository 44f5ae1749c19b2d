/**
 * What frames the content of a page: a titled card, a list with a pane beside it for the object that
 * the address names, and what they show in place of content that is loading, empty or failed.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { errorText } from '../control.ts';
import { addressOf, pageArgument, pageName } from '../route.ts';

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

type SplitProps = Readonly<{
  listClass?: string;
  /** Draws the pane of the object with an id. */
  detail: (id: string) => ComponentChildren;
  children: ComponentChildren;
}>;

/** A list, and beside it the pane of the object that the address names. */
export function Split({ listClass = 'split-list', detail, children }: SplitProps) {
  const id = pageArgument.value;
  return (
    <div class={id === '' ? 'split' : 'split has-detail'}>
      <div class={listClass}>{children}</div>
      {id !== '' && detail(id)}
    </div>
  );
}

type DetailProps = Readonly<{
  title: string;
  badge?: ComponentChildren;
  /** Beside the button that closes it. */
  links?: ComponentChildren;
  children: ComponentChildren;
}>;

export function Detail({ title, badge, links, children }: DetailProps) {
  const id = pageArgument.value;
  useEffect(() => {
    const closeOnEscape = ({ key, defaultPrevented }: KeyboardEvent) => {
      if (key !== 'Escape' || defaultPrevented || document.querySelector('dialog')) return;
      location.hash = addressOf(pageName.value);
    };
    addEventListener('keydown', closeOnEscape);
    return () => {
      removeEventListener('keydown', closeOnEscape);
      // The pane, and the focus with it, is removed only after this function.
      queueMicrotask(() => {
        const hasLostFocus = document.activeElement === document.body;
        if (hasLostFocus) rowOrHeading(id)?.focus({ preventScroll: true });
      });
    };
  }, [id]);
  return (
    <aside class="detail" aria-label={title}>
      <div class="detail-head">
        <h2>{title}</h2>
        {badge}
        <span class="actions close">
          {links}
          <a class="button plain" href={addressOf(pageName.value)}>
            Close
          </a>
        </span>
      </div>
      {children}
    </aside>
  );
}

function rowOrHeading(id: string): HTMLElement | null {
  const row = `.row-link[href="${CSS.escape(addressOf(pageName.value, id))}"]`;
  return document.querySelector<HTMLElement>(row) ?? document.querySelector('main h1');
}
