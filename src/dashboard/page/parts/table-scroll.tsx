/**
 * A table that may be wider than its place: then it scrolls, and the keyboard reaches it.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export function TableScroll(props: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  const place = useRef<HTMLElement>(null);
  const isWide = useSignal(false);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      isWide.value = element.scrollWidth > element.clientWidth;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWide]);
  const reach = isWide.value ? { tabIndex: 0, 'aria-label': props.label } : {};
  return (
    <section class="table-scroll" ref={place} {...reach}>
      {props.children}
    </section>
  );
}
