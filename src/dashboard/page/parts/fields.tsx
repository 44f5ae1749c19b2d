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
  readonly mistakes: ByPath<string>;
  readonly placeholders?: Typed | undefined;
  /** Replaces the description of the declaration. */
  readonly hint?: ComponentChildren;
  /** Choices that the declaration cannot know. */
  readonly choices: ByPath<readonly Choice[]>;
  /** Values that the browser offers. */
  readonly suggestions?: ByPath<readonly Choice[]> | undefined;
}

/** A field; the fields of an object; or a choice of variants and the fields of the chosen one. */
export function FieldInput(props: FieldProps) {
  const { field, typed, path = field.name, choices } = props;
  const { hint = choices[path] === undefined ? field.hint : undefined } = props;
  const id = useId();
  const inner = (each: Field) => (
    <FieldInput {...props} key={each.name} field={each} path={pathOf(path, each.name)} />
  );
  if (field.kind === 'object') return <>{field.fields?.map(inner)}</>;
  const mistake = props.mistakes[path];
  const shownHint = typeof hint === 'string' ? <CodeText text={hint} /> : hint;
  return (
    <>
      <div class={field.kind === 'variants' ? 'field broad' : 'field'}>
        <label for={id}>{labelOf(field)}</label>
        <Input
          id={id}
          field={field}
          value={typed.value[path] ?? ''}
          placeholder={props.placeholders?.[path]}
          choices={choices[path]}
          suggestions={props.suggestions?.[path]}
          onType={(text) => {
            typed.value = { ...typed.value, [path]: text };
          }}
          aria-describedby={`${id}-hint`}
          aria-invalid={mistake !== undefined}
        />
        <div class="hint" id={`${id}-hint`}>
          {mistake === undefined ? shownHint : <span class="problem">{mistake}</span>}
        </div>
      </div>
      {field.kind === 'variants' && chosenFields(field, path, typed.value).map(inner)}
    </>
  );
}

interface InputProps {
  readonly field: Field;
  readonly value: string;
  readonly placeholder?: string | undefined;
  /** Choices in place of the declared ones. */
  readonly choices?: readonly Choice[] | undefined;
  readonly suggestions?: readonly Choice[] | undefined;
  /** Called with each change of the text, and with what is chosen. */
  readonly onType: (text: string) => void;
  /** Called with a text that is left or ended by Enter, and with what is chosen in its place. */
  readonly onEnter?: (text: string) => void;
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: boolean;
}

/** The input of a field without fields of its own. */
export function Input({ field, choices, suggestions = [], onType, onEnter, ...more }: InputProps) {
  const offered = choices ?? choicesFor(field);
  if (offered.length > 0) {
    return <Choices {...more} choices={offered} onChoose={onEnter ?? onType} />;
  }
  const on = {
    onInput: (event: Typing) => onType(event.currentTarget.value),
    onChange: (event: Typing) => onEnter?.(event.currentTarget.value),
  };
  // In a row of a list, Enter ends the text.
  const rows = onEnter === undefined ? heightOf(field) : undefined;
  if (rows !== undefined) return <textarea {...more} {...on} rows={rows} />;
  const list = suggestions.length > 0 ? `${more.id}-list` : undefined;
  return (
    <>
      <input
        {...more}
        {...on}
        // Not `number`: for text that is not a number, the browser would return an empty text.
        type={field.kind === 'phone' ? 'tel' : 'text'}
        inputmode={field.kind === 'number' && field.words === undefined ? 'decimal' : undefined}
        list={list}
        autocomplete="off"
        spellcheck={false}
      />
      {list !== undefined && (
        <datalist id={list}>
          {suggestions.map(({ value, label }) => (
            <option key={value} value={value} label={label} />
          ))}
        </datalist>
      )}
    </>
  );
}

interface Typing {
  readonly currentTarget: { readonly value: string };
}

/** The rows of a long text; undefined: one line. */
function heightOf({ name, kind }: Field): number | undefined {
  if (kind === 'pairs') return 2;
  return name === 'message' ? 4 : undefined;
}

/** The choices that the declaration gives; `default` leaves an optional field out. */
function choicesFor({ kind, fields = [], words = [], isRequired }: Field): Choice[] {
  if (kind === 'variants') {
    return fields.map(({ title = '' }, at) => ({ value: String(at), label: title }));
  }
  if (kind !== 'truth' && kind !== 'choice') return [];
  const named = choicesOf(kind === 'truth' ? ['yes', 'no'] : words);
  return isRequired ? named : [{ value: '', label: 'default' }, ...named];
}

interface ChoicesProps extends Pick<InputProps, 'id' | 'aria-label' | 'value'> {
  readonly choices: readonly Choice[];
  readonly onChoose: (value: string) => void;
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
