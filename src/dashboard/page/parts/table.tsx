/**
 * A table described by its columns. If it is too wide, it scrolls and can be focused with the
 * keyboard.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface Column<T> {
  readonly head: string;
  /** An explanation of the head. */
  readonly title?: string | undefined;
  /** `above`: the row above it, if there is one. */
  readonly cell: (row: T, above?: T) => ComponentChildren;
  /** A class for head and cells: `wide` is hidden on a phone, `number` is right-aligned. */
  readonly kind?: string;
  /** The class of the cells, if it differs from the head's. */
  readonly cellKind?: string;
  readonly width?: string;
  /** True if its cells are row headers. */
  readonly namesRow?: boolean;
  /** True if only screen readers get its head. */
  readonly isHeadHidden?: boolean;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}

export function Table<T>({ label, columns, rows, keyOf }: TableProps<T>) {
  const place = useRef<HTMLElement>(null);
  const isWide = useSignal(false);
  useMeasured(place, (element) => {
    // A rounded width may differ by one pixel.
    isWide.value = element.scrollWidth > element.clientWidth + 1;
  });
  const reach = isWide.value ? { tabIndex: 0, 'aria-label': label } : {};
  return (
    <section class="table-scroll" ref={place} {...reach}>
      <table>
        <TableHead columns={columns} />
        <tbody>
          {rows.map((row, at) => (
            <tr key={keyOf(row)}>
              <Cells row={row} above={rows[at - 1]} columns={columns} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Calls `measure` whenever the size of the element has changed. */
export function useMeasured(
  place: { readonly current: HTMLElement | null },
  measure: (element: HTMLElement) => void,
): void {
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return;
    const observer = new ResizeObserver(() => measure(current));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
}

interface PartProps<T> {
  readonly columns: readonly Column<T>[];
}

export function TableHead<T>({ columns, ...row }: PartProps<T> & { 'aria-rowindex'?: number }) {
  return (
    <thead>
      <tr {...row}>
        {columns.map(({ head, title, kind, isHeadHidden = false }) => (
          <th key={head} scope="col" class={kind} title={title}>
            {isHeadHidden ? <span class="hidden">{head}</span> : head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface CellsProps<T> extends PartProps<T> {
  readonly row: T;
  readonly above: T | undefined;
}

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
