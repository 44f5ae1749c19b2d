/**
 * A titled part of a page.
 */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

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
