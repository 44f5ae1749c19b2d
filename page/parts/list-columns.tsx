/**
 * The columns of a declared list of `page/lists.ts`: values, inputs that change one field of a row,
 * and the buttons of each row.
 */
import { declared } from '../control.ts';
import { type Field, labelOf } from '../field.ts';
import type { ListDeclaration, Row, RowAction } from '../list-declaration.ts';
import { shownWorld } from '../route.ts';
import { textOf } from '../typed-values.ts';
import { Action } from './action.tsx';
import { Cell, CellInput, cellClass } from './cells.tsx';
import type { Column } from './table.tsx';

type RunAction = (row: Row, action: RowAction) => Promise<void>;
type ChangeField = (row: Row, name: string, value: unknown) => Promise<void>;

export function columnsOf(
  declaration: ListDeclaration,
  runAction: RunAction,
  changeField: ChangeField,
): Column<Row>[] {
  const { readOperation, settingColumn, wideColumns = [], actions = [] } = declaration;
  const columns = declaration.columns.map((name, index): Column<Row> => {
    // Two kinds of column are not declared: a setting's value, and counts that `readRows` adds.
    const undeclared: Field = { name, kind: name === settingColumn ? 'json' : 'number' };
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
export function nameOf({ columns: [firstColumn = ''] }: ListDeclaration, row: Row): string {
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
