/**
 * The area of a plot of bars, in which the user chooses bars by dragging or by keys. It is a
 * slider, so that screen readers know the keys.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

/** The chosen bars, by index: from where the user began to where the pointer or a key is now. */
export interface Selection {
  readonly anchor: number;
  readonly end: number;
}

/** In units of the SVG; a bar is one unit wide. */
export const plotHeight = 100;

interface SelectableBarsProps {
  /** The number of bars. */
  readonly count: number;
  readonly selection: Signal<Selection | undefined>;
  readonly label: string;
  /** What is selected, for screen readers. */
  readonly valueText: string;
  /** The bars as SVG, each one unit wide. */
  readonly children: ComponentChildren;
}

export function SelectableBars({
  count,
  selection,
  label,
  valueText,
  children,
}: SelectableBarsProps) {
  const isDragging = useSignal(false);
  const within = (index: number) => Math.max(0, Math.min(count - 1, index));
  const barUnder = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return within(Math.floor((count * (clientX - left)) / width));
  };
  /** A key chooses one bar; with Shift, it moves only the end of the selection. */
  const selectByKey = (event: KeyboardEvent) => {
    const next = keySteps[event.key]?.(selection.value?.end, count);
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const end = within(next);
    selection.value = { anchor: event.shiftKey ? (selection.value?.anchor ?? end) : end, end };
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={selection.value?.end ?? 0}
      aria-valuetext={valueText}
      onKeyDown={selectByKey}
      onPointerDown={(event) => {
        isDragging.value = true;
        selection.value = { anchor: barUnder(event), end: barUnder(event) };
      }}
      onPointerMove={(event) => {
        if (!isDragging.value) return;
        selection.value = { anchor: selection.value?.anchor ?? 0, end: barUnder(event) };
      }}
      onPointerUp={() => {
        isDragging.value = false;
      }}
    >
      <svg viewBox={`0 0 ${count} ${plotHeight}`} preserveAspectRatio="none" aria-hidden="true">
        {children}
      </svg>
    </div>
  );
}

/** The bar that a key chooses, by the end of the selection and the number of bars. */
const keySteps: Readonly<Record<string, (end: number | undefined, count: number) => number>> = {
  ArrowLeft: (end, count) => (end ?? count) - 1,
  ArrowDown: (end, count) => (end ?? count) - 1,
  ArrowRight: (end = -1) => end + 1,
  ArrowUp: (end = -1) => end + 1,
  Home: () => 0,
  End: (_, count) => count - 1,
};
