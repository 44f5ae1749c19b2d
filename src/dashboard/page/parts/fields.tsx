/**
 * The inputs of forms. Labels and hints are linked to their input for screen readers.
 */
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { chosenFields, type Field, labelOf, pathOf, type Typed } from '../field.ts';
import { filterValue, setFilter } from '../route.ts';
import { CodeText } from './values.tsx';

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** By the path of a field. */
type ByPath<T> = Readonly<Record<string, T>>;

interface FieldProps {
  readonly field: Field;
  readonly typed: Signal<Typed>;
  readonly path?: string;
  /** The message of the mistake at this path. */
  readonly problem?: (path: string) => string | undefined;
  readonly placeholders?: Typed;
  /** Replaces the description of the declaration. */
  readonly hint?: ComponentChildren;
  /** Choices that the declaration cannot know. */
  readonly choices?: ByPath<readonly Choice[]>;
  /** Values that the browser offers. */
  readonly suggestions?: ByPath<readonly Choice[]>;
}

/** A field; the fields of an object; or a choice of variants and the fields of the chosen one. */
export function FieldInput(props: FieldProps) {
  const { field, typed, path = field.name, problem, choices } = props;
  const { hint = choices?.[path] === undefined ? field.hint : undefined } = props;
  const id = useId();
  const inner = (each: Field) => (
    <FieldInput {...props} key={each.name} field={each} path={pathOf(path, each.name)} />
  );
  if (field.kind === 'object') return <>{field.fields?.map(inner)}</>;
  const mistake = problem?.(path);
  const shownHint = typeof hint === 'string' ? <CodeText text={hint} /> : hint;
  return (
    <>
      <div class={field.kind === 'variants' ? 'field broad' : 'field'}>
        <label for={id}>{labelOf(field)}</label>
        <Input {...props} id={id} path={path} isInvalid={mistake !== undefined} />
        <div class="hint" id={`${id}-hint`}>
          {mistake === undefined ? shownHint : <span class="problem">{mistake}</span>}
        </div>
      </div>
      {field.kind === 'variants' && chosenFields(field, path, typed.value).map(inner)}
    </>
  );
}

interface InputProps extends FieldProps {
  readonly id: string;
  readonly path: string;
  readonly isInvalid: boolean;
}

function Input(props: InputProps) {
  const { id, path, field, typed, isInvalid, placeholders = {}, choices } = props;
  const suggested = props.suggestions?.[path] ?? [];
  const rows = heightOf(field);
  const value = typed.value[path] ?? '';
  const onType = (text: string) => {
    typed.value = { ...typed.value, [path]: text };
  };
  const shared = {
    id,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': isInvalid,
    ...(placeholders[path] !== undefined && { placeholder: placeholders[path] }),
  };
  const offered = choices?.[path] ?? choicesFor(field);
  if (offered.length > 0)
    return <Choices {...shared} value={value} choices={offered} onChoose={onType} />;
  const onInput = (event: { readonly currentTarget: { readonly value: string } }) =>
    onType(event.currentTarget.value);
  if (rows !== undefined) return <textarea {...shared} {...{ rows, value, onInput }} />;
  const input = (
    <input
      {...shared}
      // Not `number`: for text that is not a number, the browser would return an empty text.
      type={field.kind === 'phone' ? 'tel' : 'text'}
      {...(field.kind === 'number' && { inputmode: 'decimal' as const })}
      {...(suggested.length > 0 && { list: `${id}-list` })}
      autocomplete="off"
      spellcheck={false}
      {...{ value, onInput }}
    />
  );
  if (suggested.length === 0) return input;
  return (
    <>
      {input}
      <datalist id={`${id}-list`}>
        {suggested.map(({ value: each, label }) => (
          <option key={each} value={each} label={label} />
        ))}
      </datalist>
    </>
  );
}

/** The rows of a long text; undefined: one line. */
function heightOf({ name, kind }: Field): number | undefined {
  if (kind === 'pairs') return 2;
  return name === 'message' ? 4 : undefined;
}

/** The choices that the declaration gives; `default` leaves an optional field out. */
export function choicesFor(field: Field): Choice[] {
  const { kind, fields = [], isRequired } = field;
  if (kind === 'variants') {
    return fields.map(({ title = '' }, at) => ({ value: String(at), label: title }));
  }
  const names = choiceNames(field);
  if (names.length === 0 || isRequired) return choicesOf(names);
  return [{ value: '', label: 'default' }, ...choicesOf(names)];
}

function choiceNames({ kind, words = [] }: Field): readonly string[] {
  if (kind === 'truth') return ['yes', 'no'];
  return kind === 'choice' ? words : [];
}

interface ChoicesProps {
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChoose: (value: string) => void;
  readonly id?: string;
  readonly 'aria-label'?: string;
}

/** A list to choose from, without a visible label. */
export function Choices({ value, choices, onChoose, ...more }: ChoicesProps) {
  const chosen = choices.find((choice) => choice.value === value) ?? choices[0];
  return (
    <select
      {...more}
      value={chosen?.value}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

interface FilterProps {
  /** Of the filter in the address that it sets. */
  readonly name: string;
  readonly label: string;
}

/** Shows its label as the placeholder. */
export function SearchInput({ name, label }: FilterProps) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={filterValue(name)}
      onInput={(event) => setFilter(name, event.currentTarget.value)}
    />
  );
}

/** `any`: the label of the choice that sets no filter. */
export function FilterChoices(
  props: FilterProps & { readonly any: string; readonly choices: readonly Choice[] },
) {
  const { name, label, any, choices } = props;
  return (
    <Choices
      aria-label={label}
      value={filterValue(name)}
      onChoose={(value) => setFilter(name, value)}
      choices={[{ value: '', label: any }, ...choices]}
    />
  );
}

/** Names as choices, each its own label. */
export function choicesOf(names: readonly string[]): Choice[] {
  return names.map((value) => ({ value, label: value }));
}

interface SubmitProps {
  readonly children: string;
  readonly kind?: 'main' | 'plain';
  readonly 'aria-busy'?: boolean;
}

export function Submit({ children, kind = 'main', ...more }: SubmitProps) {
  return (
    <button type="submit" class={`button ${kind}`} {...more}>
      {children}
    </button>
  );
}
