/**
 * A table described by its columns. A table that is wider than its place scrolls, and can then be
 * focused so that keyboard users can scroll it, too.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface Column<T> {
  readonly head: string;
  /** A tooltip of the head. */
  readonly title?: string | undefined;
  /** Draws the cell of a row. `above`: the row above, if there is one. */
  readonly cell: (row: T, above?: T) => ComponentChildren;
  /** CSS classes of head and cells: `wide` is hidden on a phone, `number` is right-aligned. */
  readonly kind?: string;
  /** CSS classes of the cells. Default: `kind`. */
  readonly cellKind?: string;
  readonly width?: string;
  /** True if its cells are row headers. */
  readonly namesRow?: boolean;
  /** True if only screen readers read its head. */
  readonly isHeadHidden?: boolean;
}

interface TableProps<T> {
  /** What the rows are. A card may have the same name, and no two landmarks may. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The key of the row to show: it is scrolled to and marked. */
  readonly shownKey?: string | undefined;
}

export function Table<T>({ label, columns, rows, keyOf, shownKey }: TableProps<T>) {
  const region = useRef<HTMLElement>(null);
  const isTooWide = useSignal(false);
  useMeasured(region, (element) => {
    // Rounding may make the widths differ by one pixel.
    isTooWide.value = element.scrollWidth > element.clientWidth + 1;
  });
  useLayoutEffect(() => {
    region.current?.querySelector('tr.selected')?.scrollIntoView({ block: 'center' });
  }, [shownKey, rows.length]);
  const focusable = isTooWide.value ? { tabIndex: 0, 'aria-label': `Table of ${label}` } : {};
  return (
    <section class="table-scroll" ref={region} {...focusable}>
      <table>
        <TableHead columns={columns} />
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row)} class={keyOf(row) === shownKey ? 'selected' : ''}>
              <Cells row={row} above={rows[index - 1]} columns={columns} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Calls `measure` at first and whenever the size of the element has changed. */
export function useMeasured(
  ref: { readonly current: HTMLElement | null },
  measure: (element: HTMLElement) => void,
): void {
  useLayoutEffect(() => {
    const { current } = ref;
    if (current === null) return;
    const observer = new ResizeObserver(() => measure(current));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
}

/** The row of column heads. */
export function TableHead<T>({ columns }: { readonly columns: readonly Column<T>[] }) {
  return (
    <thead>
      <tr>
        {columns.map(({ head, title, kind, width, isHeadHidden = false }) => (
          <th key={head} scope="col" class={kind} title={title} style={{ width }}>
            {isHeadHidden ? <span class="hidden">{head}</span> : head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface CellsProps<T> {
  readonly columns: readonly Column<T>[];
  readonly row: T;
  readonly above: T | undefined;
}

/** The cells of one row. */
export function Cells<T>({ row, above, columns }: CellsProps<T>) {
  return (
    <>
      {columns.map(({ head, cell, kind, cellKind = kind, namesRow = false }) =>
        namesRow ? (
          <th key={head} scope="row" class={cellKind}>
            {cell(row, above)}
          </th>
        ) : (
          <td key={head} class={cellKind}>
            {cell(row, above)}
          </td>
        ),
      )}
    </>
  );
}
