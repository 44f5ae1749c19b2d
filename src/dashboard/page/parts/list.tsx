/**
 * A list of declared objects: forms that add to it, what their replies show once, and a table with
 * the operations on each row. Columns that an operation changes are inputs.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { callAny, declared, errorText } from '../control.ts';
import { type Field, labelOf, readValue, textOf } from '../field.ts';
import type { FormDeclaration, ListDeclaration, Row, RowAction } from '../lists.ts';
import { useResource } from '../reading.ts';
import { filterValue, shownWorld } from '../route.ts';
import type { OperationName } from '../wire.ts';
import { accountName, useWorld } from '../world.ts';
import { Action } from './action.tsx';
import { Input, SearchInput } from './fields.tsx';
import { Card, Empty, Loaded } from './frame.tsx';
import { OperationForm } from './operation-form.tsx';
import { type Column, Table } from './table.tsx';
import { CodeText, CopyFacts, Time, TruthBadge } from './values.tsx';

const reread = { on: ['sim', 'message', 'traffic', 'clock', 'operation'] } as const;

/** What only one reply contains. */
interface OneTimeReply {
  readonly title: string;
  readonly facts: readonly (readonly [string, string])[];
}

export function List({ declaration }: { readonly declaration: ListDeclaration }) {
  const { title, list, lead, forms = [] } = declaration;
  useWorld();
  const rows = useResource(() => declaration.rows?.(callAny) ?? readRows(list), reread);
  const oneTimeReply = useSignal<OneTimeReply | undefined>(undefined);
  const statusText = useSignal('');
  const done = (label: string, { shows }: Pick<FormDeclaration, 'shows'>, reply: Row) => {
    if (shows !== undefined) oneTimeReply.value = { title: label, facts: shows(reply) };
    rows.refresh();
  };
  const act = async (row: Row, action: RowAction) => {
    const { operation, input, label, says, leads } = action;
    const id = declared[operation].route.includes('{') ? [row[declaration.key]] : [];
    const given = input === undefined ? [] : [input(row, rows.value ?? [])];
    const reply = await callAny(operation, ...id, ...given);
    if (says !== undefined) statusText.value = `${nameOf(declaration, row)}: ${says(reply)}.`;
    const next = leads?.(row, shownWorld);
    if (next !== undefined) location.assign(next);
    done(`${label} ${nameOf(declaration, row)}`, action, reply);
  };
  const change = async (row: Row, name: string, value: unknown) => {
    const id = declaration.ownColumn === undefined ? [row[declaration.key]] : [];
    await callAny(declaration.edit ?? list, ...id, { [name]: value });
    rows.refresh();
  };
  const columns = columnsOf(declaration, act, change);
  return (
    <>
      {lead !== undefined && <p>{lead}</p>}
      {oneTimeReply.value !== undefined && (
        <Card class="card once" title={`${oneTimeReply.value.title}: done`} role="alert">
          <p>Copy what you need now: a key is never shown again.</p>
          <CopyFacts of={oneTimeReply.value.facts} />
          <div class="actions">
            <button
              type="button"
              class="button plain"
              onClick={() => (oneTimeReply.value = undefined)}
            >
              I have it
            </button>
          </div>
        </Card>
      )}
      <div class="columns">
        {forms.map((form) => (
          <Card key={form.title} title={form.title}>
            <OperationForm
              {...form}
              rows={rows.value ?? []}
              onDone={(reply) => done(form.title, form, reply)}
            />
          </Card>
        ))}
      </div>
      <section class="card" aria-label={title}>
        <Loaded of={rows} what={title} isQuiet>
          {(all) => (
            <Rows
              declaration={declaration}
              rows={all}
              columns={columns}
              statusText={statusText.value}
            />
          )}
        </Loaded>
      </section>
    </>
  );
}

/** The rows are the only list of the reply. */
async function readRows(list: OperationName): Promise<readonly Row[]> {
  return Object.values(await callAny(list))[0] as readonly Row[];
}

function nameOf({ columns: [first = ''] }: ListDeclaration, row: Row): string {
  return textOf(row[first]);
}

interface RowsProps {
  readonly declaration: Pick<ListDeclaration, 'title' | 'columns' | 'key' | 'empty'>;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** What the last operation on a row did. */
  readonly statusText?: string;
}

/** More rows are found by searching: hundreds of inputs at once would make the page slow. */
const mostShown = 100;

export function Rows({ declaration, rows, columns, statusText }: RowsProps) {
  const { title, key, empty } = declaration;
  const search = filterValue(title);
  const lower = search.toLowerCase();
  const fits = (row: Row) =>
    declaration.columns.some((name) => cellText(name, row[name]).toLowerCase().includes(lower));
  const found = lower === '' ? rows : rows.filter(fits);
  return (
    <>
      <div class="card-head">
        <h2>{title}</h2>
        <p class="dim" role="status">
          {statusText}
        </p>
        {rows.length > 10 && <SearchInput name={title} label={`Search ${title}`} />}
      </div>
      {found.length === 0 ? (
        <Empty title={rows.length === 0 ? empty : 'Nothing matches.'} />
      ) : (
        <Table
          label={`Table of ${title}`}
          columns={columns}
          rows={found.slice(0, mostShown)}
          keyOf={(row) => String(row[key])}
        />
      )}
      {found.length > mostShown && (
        <p class="foot dim">
          The first {mostShown} of {found.length.toLocaleString('en')}; search for the others.
        </p>
      )}
    </>
  );
}

function cellText(name: string, value: unknown): string {
  return name === 'account_id' ? accountName(value as string | null) : textOf(value);
}

type Act = (row: Row, action: RowAction) => Promise<void>;
type Change = (row: Row, name: string, value: unknown) => Promise<void>;

function columnsOf(declaration: ListDeclaration, act: Act, change: Change): Column<Row>[] {
  const { actions = [], wide = [], links = {}, edit } = declaration;
  const fieldIn = (operation: OperationName, name: string, io: 'input' | 'output') =>
    declared[operation][io]?.find((field) => field.name === name);
  const columns = declaration.columns.map((name, at): Column<Row> => {
    const isSettingColumn = name === declaration.ownColumn;
    const kind = isSettingColumn ? 'json' : 'number';
    const field = fieldIn(declaration.list, name, 'output') ?? { name, kind };
    const input = edit && fieldIn(edit, name, 'input');
    const isWide = wide.includes(name) ? 'wide' : '';
    return {
      head: labelOf(field),
      title: field.hint,
      kind: field.kind === 'number' && !input ? `number ${isWide}` : isWide,
      cellKind: `${cellClass(field, name)} ${isWide}`,
      namesRow: at === 0,
      cell: (row) => {
        const rowName = nameOf(declaration, row);
        const label = `${labelOf(field)} of ${rowName}`;
        const inputField = edit && isSettingColumn ? fieldIn(edit, rowName, 'input') : input;
        return inputField === undefined ? (
          <Cell
            field={field}
            value={row[name]}
            href={links[name]?.(row, shownWorld)}
            what={at === 0 ? '' : label}
          />
        ) : (
          <EditableCell
            field={inputField}
            label={isSettingColumn ? rowName : label}
            value={row[name]}
            onChange={(value) => change(row, inputField.name, value)}
            defaultText={isSettingColumn ? textOf(row['default']) : undefined}
          />
        );
      },
    };
  });
  if (actions.length === 0) return columns;
  return [...columns, actionColumn(declaration, actions, act)];
}

function actionColumn(
  declaration: ListDeclaration,
  all: readonly RowAction[],
  act: Act,
): Column<Row> {
  return {
    head: 'Operations',
    kind: 'last',
    isHeadHidden: true,
    cell: (row) => (
      <div class="actions">
        {all
          .filter(({ isFor }) => isFor?.(row) !== false)
          .map((action) => (
            <Action
              key={action.label}
              act={() => act(row, action)}
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

function cellClass({ kind }: Field, name: string): string {
  if (kind === 'number') return 'number';
  if (kind === 'phone' || /url$|^to$|number$|prefix/.test(name)) return 'mono';
  return kind === 'text' || kind === 'object' ? 'breaks' : '';
}

interface CellProps {
  readonly field: Field;
  readonly value: unknown;
  readonly href?: string | undefined;
  /** What a number stands for, where it is a link. */
  readonly what: string;
}

function Cell({ field: { name, kind }, value, href, what }: CellProps): ComponentChildren {
  const text = cellText(name, value);
  if (href !== undefined && value !== 0) {
    return (
      <a href={href}>
        {text}
        {what !== '' && <span class="hidden"> {what}</span>}
      </a>
    );
  }
  if (kind === 'truth') return <TruthBadge is={value === true} />;
  if (text === '') return <span class="dim">–</span>;
  if (kind === 'time') return <Time at={text} />;
  if (name === 'open') return <CodeText text={text} />;
  if (typeof value === 'number') return value.toLocaleString('en');
  return name === 'prefix' ? `${text}…` : text;
}

interface EditableCellProps extends CellInputProps {
  /** Undefined if the column has no defaults. */
  readonly defaultText: string | undefined;
}

function EditableCell({ defaultText, ...input }: EditableCellProps) {
  return (
    <>
      <CellInput {...input} />
      {defaultText !== undefined && textOf(input.value) !== defaultText && (
        <span class="badge status-sending">not the default ({defaultText})</span>
      )}
    </>
  );
}

interface CellInputProps {
  readonly field: Field;
  readonly label: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => Promise<void>;
}

/** An input in a row: what is chosen or entered is changed at once. */
export function CellInput({ field, label, value, onChange }: CellInputProps) {
  const problem = useSignal('');
  /** What is typed and not entered yet: the list may be read again meanwhile. */
  const draft = useSignal<string | undefined>(undefined);
  const change = async (text: string) => {
    draft.value = undefined;
    try {
      await onChange(readValue(field, text));
      problem.value = '';
    } catch (failure) {
      problem.value = errorText(failure);
    }
  };
  const isOn = value === true;
  return (
    <>
      {field.kind === 'truth' ? (
        <button
          type="button"
          role="switch"
          class="switch"
          aria-checked={isOn}
          aria-label={label}
          onClick={() => void change(isOn ? 'no' : 'yes')}
        >
          {isOn ? 'yes' : 'no'}
        </button>
      ) : (
        <Input
          field={{ ...field, isRequired: true }}
          aria-label={label}
          value={draft.value ?? textOf(value)}
          placeholder={field.isNullable ? 'none' : undefined}
          onType={(text) => {
            draft.value = text;
          }}
          onEnter={(text) => void change(text)}
        />
      )}
      {problem.value !== '' && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
    </>
  );
}
