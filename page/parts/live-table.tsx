/**
 * A table of objects that come in while it is read, newest first. While it is scrolled or under the
 * pointer, new rows are held back, so that the others do not move. A click anywhere in a row
 * follows the row's link.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { pageArgument } from '../route.ts';
import { Cells, type Column, TableHead } from './table.tsx';

interface LiveTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  /** At least one row. */
  readonly rows: readonly T[];
  /** Identifies a row; also the address's argument while the row's detail is shown. */
  readonly keyOf: (row: T) => string;
  /** Shown below the table. */
  readonly children: ComponentChildren;
}

export function LiveTable<T>({ label, columns, rows, keyOf, children }: LiveTableProps<T>) {
  const region = useRef<HTMLElement>(null);
  /** The key of the row that was first when the user began to read. */
  const firstKey = useSignal<string | undefined>(undefined);
  const newRows = Math.max(
    0,
    rows.findIndex((row) => keyOf(row) === firstKey.value),
  );
  const shownRows = rows.slice(newRows);
  const holdWhileRead = () => {
    const { current } = region;
    if (current === null || newRows > 0) return;
    const isRead = current.scrollTop > 0 || current.matches(':hover');
    firstKey.value = isRead && shownRows[0] !== undefined ? keyOf(shownRows[0]) : undefined;
  };
  // The first row may have left the list: the row that has its place is held instead.
  useLayoutEffect(holdWhileRead, [shownRows[0]]);
  const showNewRows = () => {
    firstKey.value = undefined;
    region.current?.scrollTo({ top: 0 });
  };
  return (
    <>
      {newRows > 0 && (
        <button type="button" class="button plain new-rows" onClick={showNewRows}>
          {newRows.toLocaleString('en')} new
        </button>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keyboard users follow the links in the rows. */}
      <section
        class="scroll"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
        tabIndex={0}
        ref={region}
        onScroll={holdWhileRead}
        onMouseEnter={holdWhileRead}
        onMouseLeave={holdWhileRead}
        onClick={followRow}
      >
        <table class="row-list">
          <TableHead columns={columns} />
          <tbody>
            {shownRows.map((row, index) => (
              <tr key={keyOf(row)} class={keyOf(row) === pageArgument.value ? 'selected' : ''}>
                <Cells row={row} above={shownRows[index - 1]} columns={columns} />
              </tr>
            ))}
          </tbody>
        </table>
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
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: 'nearest' });
}
