/**
 * A table of objects with a title and, for more than ten of them, a search over all columns.
 */
import type { ListDeclaration, Row } from '../list-declaration.ts';
import { filterValue } from '../route.ts';
import { cellText } from './cells.tsx';
import { SearchInput } from './filters.tsx';
import { Empty } from './frame.tsx';
import { type Column, Table } from './table.tsx';

interface SearchableTableProps {
  readonly declaration: Pick<ListDeclaration, 'title' | 'columns' | 'keyColumn' | 'emptyText'>;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** What the last operation on a row did. */
  readonly statusText?: string;
}

/** More rows are found by searching: hundreds of inputs at once would make the page slow. */
const mostShownRows = 100;
const mostRowsWithoutSearch = 10;

export function SearchableTable(props: SearchableTableProps) {
  const { declaration, rows, columns, statusText } = props;
  const { title, keyColumn, emptyText } = declaration;
  const search = filterValue(title).toLowerCase();
  const matches = (row: Row) =>
    declaration.columns.some((name) => cellText(name, row[name]).toLowerCase().includes(search));
  const found = search === '' ? rows : rows.filter(matches);
  return (
    <>
      <div class="card-head">
        <h2>{title}</h2>
        <p class="dim" role="status">
          {statusText}
        </p>
        {rows.length > mostRowsWithoutSearch && (
          <SearchInput name={title} label={`Search ${title}`} />
        )}
      </div>
      {found.length === 0 ? (
        <Empty title={rows.length === 0 ? emptyText : 'Nothing matches.'} />
      ) : (
        <Table
          label={`Table of ${title}`}
          columns={columns}
          rows={found.slice(0, mostShownRows)}
          keyOf={(row) => String(row[keyColumn])}
        />
      )}
      {found.length > mostShownRows && (
        <p class="foot dim">
          The first {mostShownRows} of {found.length.toLocaleString('en')}; search for the others.
        </p>
      )}
    </>
  );
}
