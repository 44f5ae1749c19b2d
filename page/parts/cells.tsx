/**
 * The cells of a table of declared objects: a value shown by the kind of its field, or an input
 * that changes the value as soon as it is chosen or entered.
 */
import { useSignal } from '@preact/signals';
import { type ComponentChildren, isValidElement } from 'preact';
import { errorText } from '../control.ts';
import type { Field } from '../field.ts';
import { readValue, textOf } from '../typed-values.ts';
import { accountName } from '../world.ts';
import { Input } from './fields.tsx';
import { badge, CodeText, Time } from './values.tsx';

/** A value as text, with an account by its name; empty for a value that is an element already. */
export function cellText(name: string, value: unknown): string {
  if (isValidElement(value)) return '';
  return name === 'account_id' ? accountName(value as string | null) : textOf(value);
}

/** The names of fields with URLs, numbers of phones and keys. */
const monospaceNames = /url$|^to$|numbers?$|prefix/;

export function cellClass({ kind, name }: Field): string {
  if (kind === 'number') return 'number';
  if (kind === 'phone' || monospaceNames.test(name)) return 'mono';
  return kind === 'text' || kind === 'object' ? 'breaks' : '';
}

/** `href` makes the value a link, unless it is 0; `what`, if not empty, is what the link counts. */
export function cellOf(
  { name, kind }: Field,
  value: unknown,
  href: string | undefined,
  what: string,
): ComponentChildren {
  if (isValidElement(value)) return value;
  const text = cellText(name, value);
  if (href !== undefined && value !== 0) {
    return (
      <a href={href}>
        {text}
        {what !== '' && <span class="hidden"> {what}</span>}
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

interface CellInputProps {
  readonly field: Field;
  readonly label: string;
  readonly value: unknown;
  readonly placeholder?: string;
  readonly onChange: (value: unknown) => Promise<unknown>;
  /** A badge shows it while the value is another one; undefined if there is no default. */
  readonly defaultText?: string | undefined;
}

/** An input that calls `onChange` at once, without a form, and shows why a value was refused. */
export function CellInput(props: CellInputProps) {
  const { field, label, value, placeholder, onChange, defaultText } = props;
  const problem = useSignal('');
  /** Text that is not entered yet: it must survive a new reading of the list. */
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
  const asChoice = (word: string) =>
    [word, word === defaultText ? `${word} (default)` : word] as const;
  const isOn = value === true;
  return (
    <>
      {field.kind === 'truth' ? (
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
          field={{ ...field, isRequired: true }}
          aria-label={label}
          choices={field.kind === 'choice' ? field.words?.map(asChoice) : undefined}
          value={draft.value ?? textOf(value)}
          placeholder={placeholder || (field.isNullable ? 'none' : undefined)}
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
