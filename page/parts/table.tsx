/**
 * A table described by its columns. A table that is wider than its place scrolls, and can then be
 * focused so that keyboard users can scroll it, too. `TableCard` adds a title and a search.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ListDeclaration } from '../list-declaration.ts';
import { filterValue, pageArgument } from '../route.ts';
import { Action } from './action.tsx';
import { SearchInput } from './fields.tsx';
import { Card, Empty, Loaded } from './frame.tsx';

export interface Column<T> {
  readonly head: string;
  readonly title?: string | undefined;
  /** Draws the cell of a row. `above`: the row above, if there is one. */
  readonly cell: (row: T, above?: T) => ComponentChildren;
  /** CSS classes of head and cells: `wide` is hidden on a phone, `number` is right-aligned. */
  readonly class?: string;
  /** CSS classes of the cells. Default: `class`. */
  readonly cellClass?: string;
  /** True if the cells of the column are row headers. */
  readonly namesRow?: boolean;
  /** True if only screen readers read the head. */
  readonly isHeadHidden?: boolean;
}

export interface RowsProps<T> {
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  /** Identifies a row. The row that the address's argument names is marked. */
  readonly keyOf: (row: T) => string;
  readonly class?: string;
}

interface TableProps<T> extends RowsProps<T> {
  /** What the rows are. A card may have the same name, and no two landmarks may. */
  readonly label: string;
  /** How many rows are shown until a button shows all. Default: all. */
  readonly first?: number;
}

/** More rows are found by searching: thousands at once would make the page slow. */
const mostRows = 1_000;

export function Table<T>({ label, first = mostRows, rows: all, ...table }: TableProps<T>) {
  const most = useSignal(first);
  const rows = all.slice(0, most.value);
  const offered = Math.min(all.length, mostRows);
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
  }, [pageArgument.value, rows.length]);
  const focusable = isTooWide.value ? { tabIndex: 0, 'aria-label': `Table of ${label}` } : {};
  return (
    <>
      <section class="table-scroll" ref={region} {...focusable}>
        <Rows {...table} rows={rows} />
      </section>
      {rows.length < offered && (
        <Action act={() => (most.value = mostRows)}>
          Show {offered === all.length ? 'all' : `${offered} of`} {all.length.toLocaleString('en')}
        </Action>
      )}
    </>
  );
}

export function Rows<T>({ columns, rows, keyOf, class: className }: RowsProps<T>) {
  const cells = (row: T, above: T | undefined) =>
    columns.map(({ head, cell, class: headClass, cellClass = headClass, namesRow = false }) => {
      const Tag = namesRow ? 'th' : 'td';
      return (
        <Tag key={head} scope={namesRow ? 'row' : undefined} class={cellClass}>
          {cell(row, above)}
        </Tag>
      );
    });
  return (
    <table class={className}>
      <thead>
        <tr>
          {columns.map(({ head, title, class: headClass, isHeadHidden = false }) => (
            <th key={head} scope="col" class={headClass} title={title}>
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
  readonly searched: (row: T) => readonly string[];
  /** The filter of a search that the page has for several tables. */
  readonly searchedBy?: string | undefined;
  readonly emptyText?: string | undefined;
  readonly emptySearches?: ListDeclaration['emptySearches'] | undefined;
  /** Shown beside the title. */
  readonly head?: ComponentChildren;
  readonly lead?: ComponentChildren;
}

/** Hundreds of inputs at once would make the page slow. */
const firstRows = 100;
const mostRowsWithoutSearch = 10;

export function TableCard<T>(props: TableCardProps<T>) {
  const { title, resource, searched, searchedBy, emptyText = 'None yet.', head, lead } = props;
  const search = filterValue(searchedBy ?? title).toLowerCase();
  const isLong = search !== '' || (resource.value?.length ?? 0) > mostRowsWithoutSearch;
  const isFound = (row: T) => searched(row).some((text) => text.toLowerCase().includes(search));
  const searchInput = isLong && !searchedBy && (
    <SearchInput name={title} label={`Search ${title}`} />
  );
  if (searchedBy && search !== '' && resource.value?.some(isFound) === false) {
    const text = props.emptySearches?.[search] ?? 'nothing matches.';
    return <p class="dim">{`${title}: ${text}`}</p>;
  }
  return (
    <Card title={title} lead={lead} head={[head, searchInput]}>
      <Loaded resource={resource} what={title} isQuiet>
        {(rows) => {
          const found = search === '' ? rows : rows.filter(isFound);
          if (found.length === 0)
            return <Empty title={rows.length === 0 ? emptyText : 'Nothing matches.'} />;
          return <Table {...props} label={title} rows={found} first={firstRows} />;
        }}
      </Loaded>
    </Card>
  );
}
