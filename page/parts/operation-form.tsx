/**
 * A form for any declared operation. Its fields and their checks come from the declaration; a
 * refusal shows next to its field.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { callAny, declared } from '../control.ts';
import { type Field, pathsOf, Refusal, readTyped, type Typed } from '../field.ts';
import type { FormDeclaration, Row } from '../list-declaration.ts';
import { accountChoices, numbersOf } from '../world.ts';
import { Action, Form, useRunning } from './action.tsx';
import { type Choice, choiceValue, FieldInput } from './fields.tsx';
import { Failure } from './frame.tsx';

interface FormProps extends Omit<FormDeclaration, 'title' | 'fields'> {
  /** The rows of the list that the form adds to. */
  readonly rows?: readonly Row[];
  /** Names of declared fields, or fields in place of the declared ones. Default: all declared. */
  readonly fields?: readonly (string | Field)[];
  /** The typed texts, if the page reads them, too; they then stay after the form was sent. */
  readonly typed?: Signal<Typed>;
  /** Replace the declared hints, by the names of fields. */
  readonly hints?: Readonly<Record<string, ComponentChildren>>;
  /** By the names of fields. */
  readonly suggestions?: Readonly<Record<string, readonly Choice[]>>;
  /** The account that the operation is for; default: the user chooses it. */
  readonly accountId?: string | undefined;
  readonly kind?: 'main' | 'plain';
  readonly label?: string;
  readonly onDone?: (reply: Row) => unknown;
}

export function OperationForm(props: FormProps) {
  const { operation, submit, listField, numbersField, initial = {}, rows = [], onDone } = props;
  const fields = shownFields(props);
  const ownTyped = useSignal<Typed>(initial);
  const typed = props.typed ?? ownTyped;
  const hasAccount = declared[operation].route.includes('{account_id}');
  const accounts = accountChoices();
  const account = props.accountId ?? (typed.value['account_id'] || (accounts[0]?.[0] ?? ''));
  /** Choices that exist only at run time, by the path of their field. */
  const choices = {
    account_id: accounts,
    'match.account_id': [['', 'any'] as const, ...accounts],
    ...(numbersField && { [numbersField]: numbersOf(account) }),
  };
  const { error, isBusy, run } = useRunning(async () => {
    const typedInput = readTyped(fields, withFirstChoices(typed.value, choices));
    const input = props.toInput?.(typedInput, rows) ?? typedInput;
    const reply = await callAny(operation, ...(hasAccount ? [account] : []), input);
    // The form shows its first texts again, but keeps the chosen account.
    ownTyped.value = { ...initial, ...(hasAccount && { account_id: account }) };
    await onDone?.(reply);
  });
  const mistakes = mistakesIn(error, listField);
  const isShownAtField = pathsOf(fields, typed.value).some((path) => path in mistakes);
  const { hints, placeholders, suggestions } = props;
  const shared = { typed, mistakes, choices, hints, placeholders, suggestions };
  return (
    <Form class="row" aria-label={props.label} act={run}>
      {Object.entries(props.presets ?? {}).map(([name, preset]) => (
        <Action
          key={name}
          kind="plain preset"
          act={() => (typed.value = { ...initial, ...preset })}
        >
          {name}
        </Action>
      ))}
      {hasAccount && props.accountId === undefined && (
        <FieldInput {...shared} field={{ name: 'account_id', kind: 'id' }} />
      )}
      {fields.map((field) => (
        <FieldInput {...shared} key={field.name} field={field} />
      ))}
      <button type="submit" class={`button ${props.kind ?? 'main'}`} aria-busy={isBusy}>
        {submit}
      </button>
      {!isShownAtField && <Failure error={error} />}
    </Form>
  );
}

/** The mistakes by field. Their paths begin with `listField[0]` if the form makes an element. */
function mistakesIn(error: unknown, listField = ''): Refusal['mistakes'] {
  if (!(error instanceof Refusal)) return {};
  const prefix = `${listField}[0].`;
  return Object.fromEntries(
    Object.entries(error.mistakes).map(([path, text]) => [path.replace(prefix, ''), text]),
  );
}

function shownFields({ operation, listField, fields }: FormProps): readonly Field[] {
  const declaredFields = declared[operation].input ?? [];
  if (listField !== undefined) {
    const list = declaredFields.find(({ name }) => name === listField);
    return list?.item === undefined ? [] : [list.item];
  }
  if (fields === undefined) return declaredFields;
  return fields.flatMap((field) =>
    typeof field === 'string' ? declaredFields.filter(({ name }) => name === field) : [field],
  );
}

/** Adds the first choice of each select whose text is none of its choices: the browser shows it. */
function withFirstChoices(
  typed: Typed,
  choices: Readonly<Record<string, readonly Choice[]>>,
): Typed {
  const firstChoices = Object.entries(choices).flatMap(([path, offered]) => {
    const values = offered.map(choiceValue);
    return values.includes(typed[path] ?? '') ? [] : [[path, values[0] ?? '']];
  });
  return { ...typed, ...Object.fromEntries(firstChoices) };
}
