/**
 * Draws one declared list of `page/lists.ts`: forms that add objects, the secrets that a reply
 * shows only once, and a table of the objects with inputs and buttons in each row.
 */
import { useSignal } from '@preact/signals';
import { callAny, declared } from '../control.ts';
import { kinds } from '../events.ts';
import { type Field, labelOf } from '../field.ts';
import type { ListDeclaration, Row, RowAction, TextFact } from '../list-declaration.ts';
import { useResource } from '../resource.ts';
import { textOf } from '../typed-values.ts';
import { useWorld } from '../world.ts';
import { Action } from './action.tsx';
import { CellInput, cellClass, cellOf, cellText } from './cells.tsx';
import { Card } from './frame.tsx';
import { OperationForm } from './operation-form.tsx';
import { type Column, TableCard } from './table.tsx';
import { CopyFacts } from './values.tsx';

/** Values that only one reply contains, such as a new key. `title`: what was done. */
type OneTimeReply = Readonly<{ title: string; facts: readonly TextFact[] }>;

type ListProps = Readonly<{
  declaration: ListDeclaration;
  only?: (row: Row) => boolean;
  accountId?: string;
}>;

/** `only` selects rows. `accountId`: for which the forms add; default: the user chooses. */
export function List({ declaration, only = () => true, accountId }: ListProps) {
  const { title, keyColumn, actions = [], forms = [], lead, emptyText } = declaration;
  const rows = useRows(declaration, only);
  const oneTimeReply = useSignal<OneTimeReply | undefined>(undefined);
  const statusText = useSignal('');
  const showOnce = (done: string, facts: readonly TextFact[] | undefined) => {
    if (facts !== undefined) oneTimeReply.value = { title: done, facts };
  };
  const runAction = async (row: Row, action: RowAction) => {
    const { operation, toInput, label, outcomeText, nextAddress, oneTimeFacts } = action;
    const rowName = nameOf(declaration, row);
    const id = declared[operation].route.includes('{') ? [row[keyColumn]] : [];
    const input = toInput === undefined ? [] : [toInput(row, rows.value ?? [])];
    const reply = await callAny(operation, ...id, ...input);
    if (outcomeText !== undefined) statusText.value = `${rowName}: ${outcomeText(reply)}.`;
    const address = nextAddress?.(row);
    if (address !== undefined) location.assign(address);
    showOnce(`${label} ${rowName}`, oneTimeFacts?.(reply));
  };
  const columns = declaration.columns.map((name) =>
    columnOf(declaration, name, rows.value?.[0]?.[name]),
  );
  return (
    <>
      {lead !== undefined && <p>{lead}</p>}
      {oneTimeReply.value !== undefined && (
        <OneTimeCard
          {...oneTimeReply.value}
          note={declaration.oneTimeNote}
          onDismiss={() => (oneTimeReply.value = undefined)}
        />
      )}
      <TableCard
        title={title}
        resource={rows}
        columns={actions.length === 0 ? columns : [...columns, buttonsOf(declaration, runAction)]}
        keyOf={(row) => String(row[keyColumn])}
        searchedBy={declaration.searchedBy}
        searched={(row) => Object.entries(row).map(([name, value]) => cellText(name, value))}
        emptyText={emptyText}
        emptySearches={declaration.emptySearches}
        head={
          <p class="dim" role="status">
            {statusText.value}
          </p>
        }
      />
      <div class="columns">
        {forms.map((form) => (
          <Card key={form.title} title={form.title}>
            <OperationForm
              {...form}
              accountId={accountId}
              rows={rows.value ?? []}
              onDone={(reply) => showOnce(form.title, form.oneTimeFacts?.(reply))}
            />
          </Card>
        ))}
      </div>
    </>
  );
}

/** The rows of the list, read again after what changes them. */
function useRows(declaration: ListDeclaration, only: (row: Row) => boolean) {
  const { readOperation, readRows, settingColumn } = declaration;
  // Keeps the account names that cells show up to date; settings show none.
  useWorld(settingColumn === undefined);
  const readAll = async () => {
    const read = await readRows?.();
    // Otherwise the reply has one field: the rows.
    const all = read ?? (Object.values(await callAny(readOperation))[0] as readonly Row[]);
    return all.filter(only);
  };
  const isSteady = declaration.isSteady ?? settingColumn !== undefined;
  return useResource(readAll, isSteady ? ['operation'] : kinds);
}

type OneTimeCardProps = OneTimeReply &
  Readonly<{ note?: string | undefined; onDismiss: () => void }>;

export function OneTimeCard(props: OneTimeCardProps) {
  return (
    <Card class="card once" title={props.title} role="alert">
      <p>{props.note ?? 'Copy it now: a key is never shown again.'}</p>
      <CopyFacts facts={props.facts} />
      <div class="actions">
        <Action act={props.onDismiss}>I have it</Action>
      </div>
    </Card>
  );
}

/** The name of a row, such as that of an account. */
function nameOf({ columns: [firstColumn = ''] }: ListDeclaration, row: Row): string {
  return textOf(row[firstColumn]);
}

/** The last column: the buttons of a row. */
function buttonsOf(
  declaration: ListDeclaration,
  run: (row: Row, action: RowAction) => Promise<void>,
): Column<Row> {
  const { actions = [] } = declaration;
  const button = (row: Row, action: RowAction) => (
    <Action
      key={action.label}
      act={() => run(row, action)}
      label={`${action.label} ${nameOf(declaration, row)}`}
      warning={action.warning}
    >
      {action.label}
    </Action>
  );
  const offered = (row: Row) => actions.filter(({ isOfferedFor }) => isOfferedFor?.(row) !== false);
  return {
    head: 'Operations',
    class: 'last',
    isHeadHidden: true,
    cell: (row) => <div class="actions">{offered(row).map((action) => button(row, action))}</div>,
  };
}

/** `sample`: the value of the first row. */
function columnOf(declaration: ListDeclaration, name: string, sample: unknown): Column<Row> {
  const { readOperation, editOperation, settingColumn } = declaration;
  const { wideColumns = [], links = {} } = declaration;
  const namesRow = name === declaration.columns[0];
  const isSetting = name === settingColumn;
  // Two kinds of column are not declared: a setting's value, and what `readRows` adds.
  const added = typeof sample === 'number' ? 'number' : 'text';
  const undeclared: Field = { name, kind: isSetting ? 'json' : added };
  const field = declared[readOperation].output?.find((each) => each.name === name) ?? undeclared;
  // In a list of settings, the input has one field for each row.
  const inputField = (row: Row) => {
    const inputName = isSetting ? nameOf(declaration, row) : name;
    return editOperation && declared[editOperation].input?.find((each) => each.name === inputName);
  };
  const isPlainNumber = field.kind === 'number' && inputField({}) === undefined;
  const wide = wideColumns.includes(name) ? 'wide' : '';
  return {
    head: labelOf(field),
    title: field.hint,
    class: isPlainNumber ? `number ${wide}` : wide,
    cellClass: `${cellClass(field)} ${wide}`,
    namesRow,
    cell: (row) => {
      const input = inputField(row);
      const label = `${labelOf(field)} of ${nameOf(declaration, row)}`;
      const href = links[name]?.(row);
      const what = namesRow ? '' : label;
      const id = isSetting ? [] : [row[declaration.keyColumn]];
      if (editOperation === undefined || input === undefined)
        return cellOf(field, row[name], href, what);
      return (
        <CellInput
          field={input}
          label={isSetting ? input.name : label}
          value={row[name]}
          placeholder={textOf(row[`effective_${name}`])}
          onChange={(value) => callAny(editOperation, ...id, { [input.name]: value })}
          defaultText={'default' in row ? textOf(row['default']) : undefined}
        />
      );
    },
  };
}
