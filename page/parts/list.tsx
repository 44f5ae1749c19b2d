/**
 * Draws one declared list of `page/lists.ts`: forms that add objects, the secrets that a reply
 * shows only once, and a table of the objects with inputs and buttons in each row.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { callAny, callIn, declared } from '../control.ts';
import { type Field, labelOf } from '../field.ts';
import type { ListDeclaration, Row, RowAction, TextFact } from '../list-declaration.ts';
import { useResource } from '../resource.ts';
import { filterValue, pageArgument, shownWorld } from '../route.ts';
import { textOf } from '../typed-values.ts';
import type { OperationName } from '../wire.ts';
import { useWorld } from '../world.ts';
import { Action } from './action.tsx';
import { Cell, CellInput, cellClass, cellText } from './cells.tsx';
import { SearchInput } from './fields.tsx';
import { Card, Empty, Loaded } from './frame.tsx';
import { OperationForm } from './operation-form.tsx';
import { type Column, Table } from './table.tsx';
import { CopyFacts } from './values.tsx';

const rereadAfter = ['sim', 'message', 'traffic', 'clock', 'operation'] as const;

/** Values that only one reply contains, such as a new key. */
interface OneTimeReply {
  /** The operation that was done. */
  readonly title: string;
  readonly facts: readonly TextFact[];
}

interface ListProps {
  readonly declaration: ListDeclaration;
  /** Selects the rows that are shown. */
  readonly only?: (row: Row) => boolean;
  /** The account for which the forms add; default: the user chooses. */
  readonly accountId?: string;
}

export function List({ declaration, only = () => true, accountId }: ListProps) {
  const { title, readOperation, readRows, keyColumn, lead, emptyText, forms = [] } = declaration;
  // Keeps the account names that cells show up to date.
  useWorld();
  const rows = useResource(
    async () =>
      (await (readRows?.(callAny, callIn as never) ?? onlyListOf(readOperation))).filter(only),
    { rereadAfter },
  );
  const oneTimeReply = useSignal<OneTimeReply | undefined>(undefined);
  const statusText = useSignal('');
  const finish = (done: string, facts: readonly TextFact[] | undefined) => {
    if (facts !== undefined) oneTimeReply.value = { title: done, facts };
    rows.refresh();
  };
  const runAction = async (row: Row, action: RowAction) => {
    const { operation, toInput, label, outcomeText, nextAddress, oneTimeFacts } = action;
    const rowName = nameOf(declaration, row);
    const id = declared[operation].route.includes('{') ? [row[keyColumn]] : [];
    const input = toInput === undefined ? [] : [toInput(row, rows.value ?? [])];
    const reply = await callAny(operation, ...id, ...input);
    if (outcomeText !== undefined) statusText.value = `${rowName}: ${outcomeText(reply)}.`;
    const address = nextAddress?.(row, shownWorld);
    if (address !== undefined) location.assign(address);
    finish(`${label} ${rowName}`, oneTimeFacts?.(reply));
  };
  const changeField = async (row: Row, name: string, value: unknown) => {
    const { editOperation = readOperation, settingColumn } = declaration;
    const id = settingColumn === undefined ? [row[keyColumn]] : [];
    await callAny(editOperation, ...id, { [name]: value });
    rows.refresh();
  };
  const columns = columnsOf(declaration, rows.value ?? [], runAction, changeField);
  return (
    <>
      {lead !== undefined && <p>{lead}</p>}
      {oneTimeReply.value !== undefined && (
        <OneTimeCard {...oneTimeReply.value} onDismiss={() => (oneTimeReply.value = undefined)} />
      )}
      <section class="card" aria-label={title}>
        <Loaded resource={rows} what={title} isQuiet>
          {(loadedRows) => (
            <SearchableTable
              title={title}
              rows={loadedRows}
              columns={columns}
              keyOf={(row) => String(row[keyColumn])}
              searched={(row) => declaration.columns.map((name) => cellText(name, row[name]))}
              emptyText={emptyText}
              head={
                <p class="dim" role="status">
                  {statusText.value}
                </p>
              }
            />
          )}
        </Loaded>
      </section>
      <div class="columns">
        {forms.map((form) => (
          <Card key={form.title} title={form.title}>
            <OperationForm
              {...form}
              accountId={accountId}
              rows={rows.value ?? []}
              onDone={(reply) => finish(form.title, form.oneTimeFacts?.(reply))}
            />
          </Card>
        ))}
      </div>
    </>
  );
}

export function OneTimeCard(props: OneTimeReply & { readonly onDismiss: () => void }) {
  return (
    <Card class="card once" title={props.title} role="alert">
      <p>
        {props.facts.some(([name]) => name === 'Base URL')
          ? 'Home of that world shows them, too.'
          : 'Copy it now: a key is never shown again.'}
      </p>
      <CopyFacts facts={props.facts} />
      <div class="actions">
        <button type="button" class="button plain" onClick={props.onDismiss}>
          I have it
        </button>
      </div>
    </Card>
  );
}

/** The reply to the operation has one field, a list: the rows. */
async function onlyListOf(operation: OperationName): Promise<readonly Row[]> {
  return Object.values(await callAny(operation))[0] as readonly Row[];
}

type RunAction = (row: Row, action: RowAction) => Promise<void>;
type ChangeField = (row: Row, name: string, value: unknown) => Promise<void>;

function columnsOf(
  declaration: ListDeclaration,
  rows: readonly Row[],
  runAction: RunAction,
  changeField: ChangeField,
): Column<Row>[] {
  const { readOperation, settingColumn, wideColumns = [], actions = [] } = declaration;
  const columns = declaration.columns.map((name, index): Column<Row> => {
    // Two kinds of column are not declared: a setting's value, and what `readRows` adds.
    const added = typeof rows[0]?.[name] === 'number' ? 'number' : 'text';
    const undeclared: Field = { name, kind: name === settingColumn ? 'json' : added };
    const field = fieldNamed(name, declared[readOperation].output) ?? undeclared;
    const isPlainNumber = field.kind === 'number' && inputField(declaration, name) === undefined;
    const wide = wideColumns.includes(name) ? 'wide' : '';
    return {
      head: labelOf(field),
      title: field.hint,
      kind: isPlainNumber ? `number ${wide}` : wide,
      cellKind: `${cellClass(field)} ${wide}`,
      namesRow: index === 0,
      cell: (row) => cellOf(declaration, field, row, changeField),
    };
  });
  return actions.length === 0 ? columns : [...columns, actionColumn(declaration, runAction)];
}

/** The name of a row, such as that of an account. */
function nameOf({ columns: [firstColumn = ''] }: ListDeclaration, row: Row): string {
  return textOf(row[firstColumn]);
}

function fieldNamed(name: string, fields: readonly Field[] = []): Field | undefined {
  return fields.find((field) => field.name === name);
}

/** The field of the input of `editOperation`; undefined if it cannot be edited. */
function inputField({ editOperation }: ListDeclaration, name: string): Field | undefined {
  return editOperation && fieldNamed(name, declared[editOperation].input);
}

function cellOf(declaration: ListDeclaration, field: Field, row: Row, changeField: ChangeField) {
  const { columns, links = {}, settingColumn } = declaration;
  const { name } = field;
  const rowName = nameOf(declaration, row);
  const label = `${labelOf(field)} of ${rowName}`;
  const isSetting = name === settingColumn;
  // In a list of settings, the input has one field for each row.
  const input = inputField(declaration, isSetting ? rowName : name);
  if (input === undefined) {
    return (
      <Cell
        field={field}
        value={row[name]}
        href={links[name]?.(row, shownWorld)}
        what={name === columns[0] ? '' : label}
      />
    );
  }
  return (
    <CellInput
      field={input}
      label={isSetting ? rowName : label}
      value={row[name]}
      placeholder={textOf(row[`effective_${name}`])}
      onChange={(value) => changeField(row, input.name, value)}
      defaultText={isSetting ? textOf(row['default']) : undefined}
    />
  );
}

function actionColumn(declaration: ListDeclaration, runAction: RunAction): Column<Row> {
  const buttonsFor = (row: Row) =>
    declaration.actions?.filter(({ isOfferedFor }) => isOfferedFor?.(row) !== false);
  return {
    head: 'Operations',
    kind: 'last',
    isHeadHidden: true,
    cell: (row) => (
      <div class="actions">
        {buttonsFor(row)?.map((action) => (
          <Action
            key={action.label}
            act={() => runAction(row, action)}
            label={`${action.label} ${nameOf(declaration, row)}`}
            warning={action.warning}
          >
            {action.label}
          </Action>
        ))}
      </div>
    ),
  };
}

interface SearchableTableProps<T> {
  readonly title: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  /** The texts of a row that the search looks through. */
  readonly searched: (row: T) => readonly string[];
  /** Shown if there are no rows. */
  readonly emptyText: string;
  /** Shown beside the title. */
  readonly head?: ComponentChildren;
}

/** More rows are found by searching: hundreds of inputs at once would make the page slow. */
const mostShownRows = 100;
const mostRowsWithoutSearch = 10;

export function SearchableTable<T>(props: SearchableTableProps<T>) {
  const { title, rows, columns, keyOf, searched, emptyText, head } = props;
  const search = filterValue(title).toLowerCase();
  const matches = (row: T) => searched(row).some((text) => text.toLowerCase().includes(search));
  const found = search === '' ? rows : rows.filter(matches);
  return (
    <>
      <div class="card-head">
        <h2>{title}</h2>
        {head}
        {(rows.length > mostRowsWithoutSearch || search !== '') && (
          <SearchInput name={title} label={`Search ${title}`} />
        )}
      </div>
      {found.length === 0 ? (
        <Empty title={rows.length === 0 ? emptyText : 'Nothing matches.'} />
      ) : (
        <Table
          label={title}
          columns={columns}
          rows={found.slice(0, mostShownRows)}
          keyOf={keyOf}
          shownKey={pageArgument.value}
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
