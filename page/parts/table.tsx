/**
 * A table described by its columns. A table that is wider than its place scrolls, and can then be
 * focused so that keyboard users can scroll it, too. `TableCard` adds a title and a search.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { filterValue, pageArgument } from '../route.ts';
import { SearchInput } from './fields.tsx';
import { Card, Empty, Loaded } from './frame.tsx';

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
  /** True if its cells are row headers. */
  readonly namesRow?: boolean;
  /** True if only screen readers read its head. */
  readonly isHeadHidden?: boolean;
}

export interface RowsProps<T> {
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  /** Identifies a row. The row that the address's argument names is marked. */
  readonly keyOf: (row: T) => string;
  readonly class?: string;
}

/** `label`: what the rows are. A card may have the same name, and no two landmarks may. */
export function Table<T>({ label, ...rows }: RowsProps<T> & { readonly label: string }) {
  const region = useRef<HTMLElement>(null);
  const isTooWide = useSignal(false);
  useLayoutEffect(() => {
    const { current } = region;
    if (current === null) return;
    const observer = new ResizeObserver(() => {
      // Rounding may make the widths differ by one pixel.
      isTooWide.value = current.scrollWidth > current.clientWidth + 1;
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    region.current?.querySelector('tr.selected')?.scrollIntoView({ block: 'nearest' });
  }, [pageArgument.value, rows.rows.length]);
  const focusable = isTooWide.value ? { tabIndex: 0, 'aria-label': `Table of ${label}` } : {};
  return (
    <section class="table-scroll" ref={region} {...focusable}>
      <Rows {...rows} />
    </section>
  );
}

/** The table itself: a row of heads, and the rows. */
export function Rows<T>({ columns, rows, keyOf, class: className }: RowsProps<T>) {
  const cells = (row: T, above: T | undefined) =>
    columns.map(({ head, cell, kind, cellKind = kind, namesRow = false }) => {
      const Tag = namesRow ? 'th' : 'td';
      return (
        <Tag key={head} scope={namesRow ? 'row' : undefined} class={cellKind}>
          {cell(row, above)}
        </Tag>
      );
    });
  return (
    <table class={className}>
      <thead>
        <tr>
          {columns.map(({ head, title, kind, isHeadHidden = false }) => (
            <th key={head} scope="col" class={kind} title={title}>
              {isHeadHidden ? <span class="hidden">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={keyOf(row)} class={keyOf(row) === pageArgument.value ? 'selected' : ''}>
            {cells(row, rows[index - 1])}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface TableCardProps<T> extends Omit<RowsProps<T>, 'rows'> {
  readonly title: string;
  readonly resource: { readonly value: readonly T[] | undefined; readonly error?: unknown };
  /** The texts of a row that the search looks through. */
  readonly searched: (row: T) => readonly string[];
  readonly emptyText?: string;
  /** Shown beside the title. */
  readonly head?: ComponentChildren;
  readonly lead?: ComponentChildren;
}

/** More rows are found by searching: hundreds of inputs at once would make the page slow. */
const mostShownRows = 100;
const mostRowsWithoutSearch = 10;

/** A card with a table, and a search if the table is long. */
export function TableCard<T>(props: TableCardProps<T>) {
  const { title, resource, searched, emptyText = '', head, lead, ...table } = props;
  const search = filterValue(title).toLowerCase();
  const isLong = search !== '' || (resource.value?.length ?? 0) > mostRowsWithoutSearch;
  const isFound = (row: T) => searched(row).some((text) => text.toLowerCase().includes(search));
  const searchInput = isLong && <SearchInput name={title} label={`Search ${title}`} />;
  return (
    <Card title={title} lead={lead} head={[head, searchInput]}>
      <Loaded resource={resource} what={title} isQuiet>
        {(rows) => {
          const found = search === '' ? rows : rows.filter(isFound);
          if (found.length === 0) {
            return <Empty title={rows.length === 0 ? emptyText : 'Nothing matches.'} />;
          }
          return (
            <>
              <Table label={title} rows={found.slice(0, mostShownRows)} {...table} />
              {found.length > mostShownRows && (
                <p class="foot dim">
                  The first {mostShownRows} of {found.length.toLocaleString('en')}; search for the
                  others.
                </p>
              )}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
