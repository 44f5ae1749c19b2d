/**
 * Form fields, each bound to a value. Labels and hints are linked to their input for screen
 * readers.
 */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** The message of the refusal that names this field. */
  readonly problem?: string | undefined;
  readonly children: (ids: {
    readonly id: string;
    readonly 'aria-describedby': string;
    readonly 'aria-invalid': boolean;
  }) => ComponentChildren;
}

export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint`, 'aria-invalid': problem !== undefined })}
      <div class="hint" id={`${id}-hint`}>
        {problem === undefined ? hint : <span class="problem">{problem}</span>}
      </div>
    </div>
  );
}

/** The value of an input: a signal, or any object with the same `value`. */
export interface Text {
  value: string;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface SelectProps {
  readonly label: string;
  readonly of: Text;
  /** The shown choice, if it differs from the value of `of`. */
  readonly value?: string;
  readonly choices: readonly Choice[];
  readonly hint?: ComponentChildren;
}

export function Select({ label, of, value = of.value, choices, hint }: SelectProps) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => <Choices {...ids} value={value} of={of} choices={choices} />}
    </Field>
  );
}

interface ChoicesProps {
  readonly of: Text;
  readonly value?: string;
  readonly choices: readonly Choice[];
  readonly 'aria-label'?: string;
}

/** A list to choose from, without a visible label. */
export function Choices({ of, value = of.value, choices, ...more }: ChoicesProps) {
  return (
    <select
      {...more}
      value={value}
      onChange={(event) => {
        of.value = event.currentTarget.value;
      }}
    >
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

/** Shows its label as the placeholder. */
export function SearchInput({ label, of }: { readonly label: string; readonly of: Text }) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={of.value}
      onInput={(event) => {
        of.value = event.currentTarget.value;
      }}
    />
  );
}

/** Names as choices, each its own label. */
export function choicesOf(names: readonly string[]): Choice[] {
  return names.map((value) => ({ value, label: value }));
}

export function Submit({ children, kind = 'main', ...more }: SubmitProps) {
  return (
    <button type="submit" class={`button ${kind}`} {...more}>
      {children}
    </button>
  );
}

interface SubmitProps {
  readonly children: string;
  readonly kind?: 'main' | 'plain';
  readonly disabled?: boolean;
  readonly 'aria-busy'?: boolean;
}

interface TextAreaProps {
  readonly label: string;
  readonly of: Text;
  readonly rows: number;
  readonly hint?: ComponentChildren;
}

export function TextArea({ label, of, rows, hint }: TextAreaProps) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <textarea
          {...ids}
          rows={rows}
          value={of.value}
          onInput={(event) => {
            of.value = event.currentTarget.value;
          }}
        />
      )}
    </Field>
  );
}

interface TextProps {
  readonly label: string;
  readonly of: Text;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly placeholder?: string;
  /** Not `number`: for text that is no number, the browser would return an empty text. */
  readonly type?: 'text' | 'search' | 'tel' | 'password';
  readonly inputmode?: 'numeric' | 'decimal';
  readonly list?: string;
  readonly required?: boolean;
}

export function TextField({ label, of, hint, problem, ...more }: TextProps) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => (
        <input
          {...ids}
          {...(more as object)}
          autocomplete="off"
          spellcheck={false}
          value={of.value}
          onInput={(event) => {
            of.value = event.currentTarget.value;
          }}
        />
      )}
    </Field>
  );
}
