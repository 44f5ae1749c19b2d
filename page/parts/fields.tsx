/**
 * The inputs of forms. `FieldInput` draws one declared field with its label, hint and
 * mistake; `Input` only the input of a field. A form holds what is typed as texts by the path of
 * the field, such as `fault.status`; see `page/field.ts`.
 */
import type { Signal } from '@preact/signals';
import type { ComponentChildren, PartialInputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import { type Field, innerFields, labelOf, pathOf, type Typed } from '../field.ts';
import { filterValue, setFilter } from '../route.ts';
import { CodeText } from './values.tsx';

/** A value that may be chosen, with its label if that is another text. */
export type Choice = string | readonly [value: string, label: string];

/** Keys are paths of fields. */
type ByPath<T> = Readonly<Record<string, T>>;

interface FieldProps {
  readonly field: Field;
  readonly typed: Signal<Typed>;
  /** Default: the field's name. */
  readonly path?: string;
  readonly mistakes: ByPath<string>;
  readonly placeholders?: Typed | undefined;
  /** Replace the descriptions of the declaration. */
  readonly hints?: ByPath<ComponentChildren> | undefined;
  /** Choices that exist only at run time, such as accounts. */
  readonly choices: ByPath<readonly Choice[]>;
  /** Values that the browser suggests for free text. */
  readonly suggestions?: ByPath<readonly Choice[]> | undefined;
}

/** One field: of an object all fields, of variants a choice and the fields of the chosen one. */
export function FieldInput(props: FieldProps) {
  const { field, typed, path = field.name, choices } = props;
  const hint = props.hints?.[path] ?? field.hint;
  const id = useId();
  const inner = innerFields(field, path, typed.value).map((child) => (
    <FieldInput {...props} key={child.name} field={child} path={pathOf(path, child.name)} />
  ));
  if (field.only !== undefined) return null;
  if (field.kind === 'object') return <>{inner}</>;
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
          onType={(text) => (typed.value = { ...typed.value, [path]: text })}
          aria-describedby={`${id}-hint`}
          aria-invalid={mistake !== undefined}
        />
        <div class="hint" id={`${id}-hint`}>
          {mistake === undefined ? shownHint : <span class="problem">{mistake}</span>}
        </div>
      </div>
      {inner}
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
  /** Called with the text after each change, or with the chosen value if `onEnter` is absent. */
  readonly onType: (text: string) => void;
  /** Called with the text when the user leaves it or presses Enter, or with the chosen value. */
  readonly onEnter?: (text: string) => void;
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: boolean;
}

/** A select if the field has choices, otherwise a text input; for fields without inner fields. */
export function Input(props: InputProps) {
  const { field, choices, suggestions, onType, onEnter, ...attributes } = props;
  const offered = choices ?? declaredChoices(field);
  if (offered.length > 0)
    return <Choices {...attributes} choices={offered} onChoose={onEnter ?? onType} />;
  const handlers = {
    onInput: (event: InputChange) => onType(event.currentTarget.value),
    onChange: (event: InputChange) => onEnter?.(event.currentTarget.value),
  };
  if (field.kind === 'secret')
    return <input {...attributes} {...handlers} type="password" autocomplete="off" />;
  // A textarea would take Enter as a new line.
  const rows = onEnter === undefined ? textareaRows(field) : undefined;
  if (rows !== undefined) return <textarea {...attributes} {...handlers} rows={rows} />;
  return (
    <SuggestingInput
      {...attributes}
      {...handlers}
      // Not `number`: the browser would return '' for a text that is not a number.
      type={field.kind === 'phone' ? 'tel' : 'text'}
      inputmode={field.kind === 'number' && field.words === undefined ? 'decimal' : undefined}
      suggestions={suggestions}
    />
  );
}

interface SuggestingProps extends Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'role'> {
  readonly type: 'text' | 'tel' | 'search';
  readonly suggestions?: readonly Choice[] | undefined;
}

function SuggestingInput({ suggestions = [], ...attributes }: SuggestingProps) {
  const listId = useId();
  const list = suggestions.length > 0 ? listId : undefined;
  return (
    <>
      <input {...attributes} list={list} autocomplete="off" spellcheck={false} />
      {list !== undefined && (
        <datalist id={listId}>
          <Options choices={suggestions} />
        </datalist>
      )}
    </>
  );
}

function Options({ choices }: { readonly choices: readonly Choice[] }) {
  return choices.map((choice) => (
    <option key={choiceValue(choice)} value={choiceValue(choice)}>
      {typeof choice === 'string' ? choice : choice[1]}
    </option>
  ));
}

export function choiceValue(choice: Choice): string {
  return typeof choice === 'string' ? choice : choice[0];
}

type InputChange = Readonly<{ currentTarget: { readonly value: string } }>;

/** The rows of a field with long texts; undefined: an input of one line. */
function textareaRows({ name, kind }: Field): number | undefined {
  if (kind === 'pairs') return 2;
  return /^(message|body)$/.test(name) ? 4 : undefined;
}

/** The declared choices of a field; `default` leaves an optional field out. */
function declaredChoices({ kind, fields = [], words = [], isRequired }: Field): Choice[] {
  if (kind === 'variants') return fields.map(({ name, title = '' }) => [name, title]);
  if (kind !== 'truth' && kind !== 'choice') return [];
  const choices = kind === 'truth' ? ['yes', 'no'] : words;
  return isRequired ? [...choices] : [['', 'default'], ...choices];
}

type ChoicesProps = Pick<InputProps, 'id' | 'aria-label' | 'value'> &
  Readonly<{ choices: readonly Choice[]; onChoose: (value: string) => void }>;

/** A select without a visible label; shows the first choice if the value is not a choice. */
export function Choices({ value, choices, onChoose, ...attributes }: ChoicesProps) {
  const values = choices.map(choiceValue);
  return (
    <select
      {...attributes}
      value={values.includes(value) ? value : values[0]}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      <Options choices={choices} />
    </select>
  );
}

export function Check({ isOn, children }: Readonly<{ isOn: Signal<boolean>; children: string }>) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn.value}
        onChange={({ currentTarget }) => (isOn.value = currentTarget.checked)}
      />
      {children}
    </label>
  );
}

/** `name`: the filter that the input sets. */
type FilterProps = Readonly<{ name: string; label: string }>;

/** A search whose placeholder is its label. */
export function SearchInput(props: FilterProps & Pick<SuggestingProps, 'suggestions'>) {
  const { name, label, suggestions } = props;
  return (
    <SuggestingInput
      type="search"
      aria-label={label}
      placeholder={label}
      value={filterValue(name)}
      onInput={(event) => setFilter(name, event.currentTarget.value)}
      suggestions={suggestions}
    />
  );
}

/** A select that sets a filter. `any`: the label of the choice that removes the filter. */
export function FilterChoices(
  props: FilterProps & Readonly<{ any: string; choices: readonly Choice[]; value?: string }>,
) {
  const { name, label, any, choices, value = filterValue(name) } = props;
  return (
    <Choices
      aria-label={label}
      value={value}
      onChoose={(chosen) => setFilter(name, chosen)}
      choices={[['', any], ...choices]}
    />
  );
}
