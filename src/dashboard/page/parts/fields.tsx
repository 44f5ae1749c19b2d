/**
 * Labelled inputs. The hint belongs to its input for screen readers too.
 */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Words of the refusal that names this field. */
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

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChoose: (value: string) => void;
  readonly hint?: ComponentChildren;
}

export function Select({ label, value, choices, onChoose, hint }: SelectProps) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onType: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly placeholder?: string;
  /** Not `number`: a browser hands out an empty text for what it cannot read. */
  readonly type?: 'text' | 'search' | 'tel' | 'password';
  readonly inputmode?: 'numeric' | 'decimal';
  readonly list?: string;
  readonly required?: boolean;
}

export function TextField({ label, value, onType, hint, problem, ...more }: TextProps) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => (
        <input
          {...ids}
          {...(more as object)}
          autocomplete="off"
          spellcheck={false}
          value={value}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
