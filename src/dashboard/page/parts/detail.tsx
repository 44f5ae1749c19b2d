/**
 * A list, and beside it the pane of the object that the address names. Escape or Close leaves the
 * pane; the focus returns to the row.
 */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { addressOf, pageArgument, pageName } from '../route.ts';

interface SplitProps {
  readonly kind?: string;
  /** The pane of the named object. */
  readonly detail: (name: string) => ComponentChildren;
  readonly children: ComponentChildren;
}

export function Split({ kind = 'split-list', detail, children }: SplitProps) {
  const name = pageArgument.value;
  return (
    <div class={name === '' ? 'split' : 'split has-detail'}>
      <div class={kind}>{children}</div>
      {name !== '' && detail(name)}
    </div>
  );
}

interface DetailProps {
  /** The accessible name of the pane. */
  readonly label: string;
  readonly title: string;
  readonly badge?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Detail({ label, title, badge, children }: DetailProps) {
  const name = pageArgument.value;
  useEffect(() => {
    const leave = ({ key, defaultPrevented }: KeyboardEvent) => {
      if (key !== 'Escape' || defaultPrevented || document.querySelector('dialog')) return;
      location.hash = addressOf(pageName.value);
    };
    addEventListener('keydown', leave);
    return () => {
      removeEventListener('keydown', leave);
      const isLost = () => document.activeElement === document.body;
      // The pane is removed after this, and the focus with it.
      queueMicrotask(() => isLost() && rowOrHeading(name)?.focus({ preventScroll: true }));
    };
  }, [name]);
  return (
    <aside class="detail" aria-label={label}>
      <div class="detail-head">
        <h2>{title}</h2>
        {badge}
        <a class="button plain close" href={addressOf(pageName.value)}>
          Close
        </a>
      </div>
      {children}
    </aside>
  );
}

function rowOrHeading(name: string): HTMLElement | null {
  const row = `.row-link[href="${CSS.escape(addressOf(pageName.value, name))}"]`;
  return document.querySelector<HTMLElement>(row) ?? document.querySelector('main h1');
}
