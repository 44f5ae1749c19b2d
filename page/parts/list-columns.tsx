/**
 * The columns of a declared list of `page/lists.ts`. A cell shows a value by the kind of its field,
 * or is an input that changes the value as soon as it is chosen or entered. The last column has the
 * buttons of each row.
 */
import { useSignal } from '@preact/signals';
import { type ComponentChildren, isValidElement } from 'preact';
import { callAny, declared, errorText } from '../control.ts';
import { type Field, labelOf, readValue } from '../field.ts';
import type { ListDeclaration, Row, RowAction } from '../list-declaration.ts';
import { textOf } from '../value-texts.ts';
import { accountName } from '../world.ts';
import { Action } from './action.tsx';
import { Input } from './fields.tsx';
import type { Column } from './table.tsx';
import { badge, CodeText, Time } from './values.tsx';

/** `sample`: the first row. `run` performs what a button of a row stands for. */
export function columnsOf(
  declaration: ListDeclaration,
  sample: Row | undefined,
  run: (row: Row, action: RowAction) => Promise<void>,
): readonly Column<Row>[] {
  const { columns, actions = [] } = declaration;
  const shown = columns.map((name) => columnOf(declaration, name, sample?.[name]));
  if (actions.length === 0) return shown;
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
  const buttons: Column<Row> = {
    head: 'Operations',
    class: 'last',
    isHeadHidden: true,
    cell: (row) => <div class="actions">{offered(row).map((action) => button(row, action))}</div>,
  };
  return [...shown, buttons];
}

/** The name of a row, such as that of an account. */
export function nameOf({ columns: [firstColumn = ''] }: ListDeclaration, row: Row): string {
  return textOf(row[firstColumn]);
}

/** A value as text, with an account by its name; empty for a value that is an element already. */
export function cellText(name: string, value: unknown): string {
  if (isValidElement(value)) return '';
  return name === 'account_id' ? accountName(value as string | null) : textOf(value);
}

/** `sample`: the value of the first row. */
function columnOf(declaration: ListDeclaration, name: string, sample: unknown): Column<Row> {
  const { columns, wideColumns = [] } = declaration;
  const field = fieldOf(declaration, name, sample);
  const isPlainNumber = field.kind === 'number' && inputOf(declaration, name, {}) === undefined;
  const wide = wideColumns.includes(name) ? 'wide' : '';
  return {
    head: labelOf(field),
    title: field.hint,
    class: isPlainNumber ? `number ${wide}` : wide,
    cellClass: `${cellClass(field)} ${wide}`,
    namesRow: name === columns[0],
    cell: (row) => {
      const input = inputOf(declaration, name, row);
      if (input === undefined) return valueCell(declaration, field, row);
      return <CellInput {...{ declaration, field, input, row }} />;
    },
  };
}

/** Two kinds of column are not declared: a setting's value, and what `readRows` adds. */
function fieldOf(declaration: ListDeclaration, name: string, sample: unknown): Field {
  const { readOperation, settingColumn } = declaration;
  const added = typeof sample === 'number' ? 'number' : 'text';
  const undeclared: Field = { name, kind: name === settingColumn ? 'json' : added };
  return declared[readOperation].output?.find((each) => each.name === name) ?? undeclared;
}

/** The field of the input that a cell changes, if it does; a setting's has the name of its row. */
function inputOf(declaration: ListDeclaration, name: string, row: Row): Field | undefined {
  const { editOperation, settingColumn } = declaration;
  const inputName = name === settingColumn ? nameOf(declaration, row) : name;
  return editOperation && declared[editOperation].input?.find((each) => each.name === inputName);
}

const labelIn = (declaration: ListDeclaration, field: Field, row: Row) =>
  `${labelOf(field)} of ${nameOf(declaration, row)}`;

/** The names of fields with URLs, numbers of phones and keys. */
const monospaceNames = /url$|^to$|numbers?$|prefix/;

function cellClass({ kind, name }: Field): string {
  if (kind === 'number') return 'number';
  if (kind === 'phone' || monospaceNames.test(name)) return 'mono';
  return kind === 'text' || kind === 'object' ? 'breaks' : '';
}

function valueCell(declaration: ListDeclaration, field: Field, row: Row): ComponentChildren {
  const { name, kind } = field;
  const { [name]: value } = row;
  if (isValidElement(value)) return value;
  const text = cellText(name, value);
  const href = declaration.links?.[name]?.(row);
  if (href !== undefined && value !== 0) {
    const namesRow = name === declaration.columns[0];
    return (
      <a href={href}>
        {text}
        {!namesRow && <span class="hidden"> {labelIn(declaration, field, row)}</span>}
      </a>
    );
  }
  if (kind === 'truth') return value === true ? badge('delivered', 'yes') : badge('queued', 'no');
  if (text === '') return <span class="dim">–</span>;
  if (kind === 'time') return <Time at={text} />;
  // What an assumption leaves open and answers: a sentence with names of fields in it.
  if (name === 'means') return <CodeText text={text} />;
  if (typeof value === 'number') return value.toLocaleString('en');
  // The start of a key; the rest is secret.
  return name === 'prefix' ? `${text}…` : text;
}

type CellInputProps = Readonly<{
  declaration: ListDeclaration;
  field: Field;
  /** The field of the operation's input that the cell changes. */
  input: Field;
  row: Row;
}>;

/** An input that changes the value at once, without a form, and shows why it was refused. */
function CellInput({ declaration, field, input, row }: CellInputProps) {
  const { editOperation, settingColumn, keyColumn } = declaration;
  const isSetting = field.name === settingColumn;
  const label = isSetting ? input.name : labelIn(declaration, field, row);
  const value = row[field.name];
  const defaultText = 'default' in row ? textOf(row['default']) : undefined;
  const problem = useSignal('');
  /** Text that is not entered yet: it must survive a new reading of the list. */
  const draft = useSignal<string | undefined>(undefined);
  const change = async (text: string) => {
    draft.value = undefined;
    try {
      const id = isSetting ? [] : [row[keyColumn]];
      const changed = { [input.name]: readValue(input, text) };
      if (editOperation !== undefined) await callAny(editOperation, ...id, changed);
      problem.value = '';
    } catch (failure) {
      problem.value = errorText(failure);
    }
  };
  const asChoice = (word: string) =>
    [word, word === defaultText ? `${word} (default)` : word] as const;
  const isOn = value === true;
  return (
    <>
      {input.kind === 'truth' ? (
        <button
          type="button"
          role="switch"
          class="switch"
          aria-checked={isOn}
          aria-label={`${label}: ${isOn ? 'yes' : 'no'}`}
          onClick={() => void change(isOn ? 'no' : 'yes')}
        >
          {isOn ? 'yes' : 'no'}
        </button>
      ) : (
        <Input
          field={{ ...input, isRequired: true }}
          aria-label={label}
          choices={input.kind === 'choice' ? input.words?.map(asChoice) : undefined}
          value={draft.value ?? textOf(value)}
          placeholder={
            textOf(row[`effective_${field.name}`]) || (input.isNullable ? 'none' : undefined)
          }
          onType={(text) => (draft.value = text)}
          onEnter={(text) => void change(text)}
        />
      )}
      {problem.value !== '' && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      {defaultText !== undefined && textOf(value) !== defaultText && (
        <span class="badge status-sending">not the default</span>
      )}
    </>
  );
}
