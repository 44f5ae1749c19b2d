/**
 * A list, and beside it a pane with one of its objects: the one that the address names. Escape or
 * Close closes the pane and returns the focus to the object's row.
 */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { addressOf, pageArgument, pageName } from '../route.ts';

type SplitProps = Readonly<{
  kind?: string;
  detail: (id: string) => ComponentChildren;
  children: ComponentChildren;
}>;

/** `kind`: the class of the list. `detail` draws the pane of the object with an id. */
export function Split({ kind = 'split-list', detail, children }: SplitProps) {
  const id = pageArgument.value;
  return (
    <div class={id === '' ? 'split' : 'split has-detail'}>
      <div class={kind}>{children}</div>
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
