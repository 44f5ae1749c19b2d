/**
 * A table of objects that come in while it is read, newest first. While it is scrolled or under the
 * pointer, new rows are held back, so that the others do not move. A click anywhere in a row
 * follows the row's link.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Action } from './action.tsx';
import { Rows, type RowsProps } from './table.tsx';

/** In pixels. A window's worth of rows is drawn at first. */
const rowHeight = 34;
export const rowsInWindow = () => Math.ceil(innerHeight / rowHeight);
/** How many more are drawn when the user comes near the end. */
const rowsPerExtension = 40;

/** `children` are shown below the table. `onRead` is called when the user points at it or scrolls. */
type LiveTableProps<T> = Omit<RowsProps<T>, 'class'> &
  Readonly<{ label: string; children: ComponentChildren; onRead?: () => void }>;

export function LiveTable<T>({ label, rows, children, onRead, ...table }: LiveTableProps<T>) {
  const { keyOf } = table;
  const region = useRef<HTMLElement>(null);
  /** The key of the row that was first when the user began to read. */
  const firstKey = useSignal<string | undefined>(undefined);
  const firstIndex = rows.findIndex((row) => keyOf(row) === firstKey.value);
  const newCount = Math.max(0, firstIndex);
  const moreDrawn = useSignal(0);
  const mostDrawn = rowsInWindow() + moreDrawn.value;
  const firstShown = rows[newCount];
  /** Set by events only: reading it after each change would make the browser lay out rows twice. */
  const isBeingRead = useRef(false);
  const holdWhileRead = () => {
    if (newCount > 0) return;
    firstKey.value =
      isBeingRead.current && firstShown !== undefined ? keyOf(firstShown) : undefined;
  };
  const noteReading = ({ currentTarget }: { readonly currentTarget: HTMLElement }) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget;
    isBeingRead.current = scrollTop > 0 || currentTarget.matches(':hover');
    holdWhileRead();
    if (isBeingRead.current) onRead?.();
    if (scrollTop === 0) moreDrawn.value = 0;
    else if (scrollTop + 2 * clientHeight > scrollHeight && mostDrawn < rows.length) {
      moreDrawn.value += rowsPerExtension;
    }
  };
  // If the first row has left the list, the row in its place is held instead.
  useLayoutEffect(holdWhileRead, [firstShown]);
  const showNewRows = () => {
    firstKey.value = undefined;
    region.current?.scrollTo({ top: 0 });
  };
  return (
    <>
      {newCount > 0 && (
        <Action kind="plain new-rows" act={showNewRows}>
          {newCount.toLocaleString('en')} new
        </Action>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keyboard users follow the links in the rows. */}
      <section
        class="scroll"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
        tabIndex={0}
        ref={region}
        onScroll={noteReading}
        onMouseEnter={noteReading}
        onMouseLeave={noteReading}
        onClick={followRow}
      >
        <Rows {...table} rows={rows.slice(newCount, newCount + mostDrawn)} class="row-list" />
      </section>
      <p class="foot dim actions">{children}</p>
    </>
  );
}

/** Follows the link of the clicked row, unless the click ends a selection of text. */
function followRow({ target }: MouseEvent): void {
  const isSelecting = getSelection()?.isCollapsed === false;
  if (isSelecting || (target as Element).closest('a') !== null) return;
  (target as Element).closest('tr')?.querySelector('a')?.click();
}

const rowSteps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/**
 * Moves the focus between rows, for arrow keys, j and k. If no row has the focus, j and k begin at
 * the row whose detail is open, or at the first row.
 */
export function moveBetweenRows(event: KeyboardEvent): void {
  const step = rowSteps[event.key] ?? 0;
  if (step === 0) return;
  const isLetter = event.key.length === 1;
  const openRow = isLetter ? document.querySelector('.row-list .selected') : null;
  const row = (event.target as Element).closest('tr') ?? openRow;
  const nextRow = step === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  const allRows = isLetter && row === null ? document.querySelector('.row-list tbody') : null;
  const link = (nextRow ?? allRows)?.querySelector<HTMLElement>('.row-link');
  if (link === null || link === undefined) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: 'nearest' });
}
