/**
 * A form for any declared operation: its fields, their checks, and refusals next to their field.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { callAny, declared } from '../control.ts';
import { type Field, pathsOf, Refusal, readTyped, type Typed } from '../field.ts';
import type { FormDeclaration, Row } from '../lists.ts';
import { accountChoices, type World, world } from '../world.ts';
import { useRunning } from './action.tsx';
import { type Choice, choicesOf, FieldInput, Submit } from './fields.tsx';
import { Failure } from './frame.tsx';

interface FormProps extends Omit<FormDeclaration, 'title'> {
  readonly rows?: readonly Row[];
  /** Fields in place of the declared ones. */
  readonly of?: readonly Field[];
  /** What is typed, if others read it, too: it stays after it was sent. */
  readonly typed?: Signal<Typed>;
  /** By the names of fields. */
  readonly hints?: Readonly<Record<string, ComponentChildren>>;
  readonly suggestions?: Readonly<Record<string, readonly Choice[]>>;
  readonly kind?: 'main' | 'plain';
  readonly label?: string;
  readonly onDone: (reply: Row) => unknown;
}

export function OperationForm(props: FormProps) {
  const { operation, submit, within, start = {}, rows = [], onDone } = props;
  const fields = props.of ?? fieldsOf(props);
  const own = useSignal<Typed>(start);
  const typed = props.typed ?? own;
  const isOfAccount = declared[operation].route.includes('{account_id}');
  const accounts = accountChoices(world.value?.accounts);
  const account = typed.value['account_id'] || (accounts[0]?.value ?? '');
  const choices = {
    account_id: accounts,
    'match.account_id': [{ value: '', label: 'any' }, ...accounts],
    ...(props.numbers !== undefined && {
      [props.numbers]: choicesOf(numbersOf(world.value, account)),
    }),
  };
  const { error, isBusy, run } = useRunning(async () => {
    const made = readTyped(fields, withFirstChoices(typed.value, choices));
    const input = props.input?.(made, rows) ?? made;
    const reply = await callAny(operation, ...(isOfAccount ? [account] : []), input);
    own.value = { ...start, ...(isOfAccount && { account_id: account }) };
    await onDone(reply);
  });
  const mistakes = mistakesIn(error, within);
  const isShown = pathsOf(fields, typed.value).some((path) => mistakes[path] !== undefined);
  const { placeholders, suggestions } = props;
  const shared = { typed, mistakes, choices, placeholders, suggestions };
  return (
    <form
      class="row"
      aria-label={props.label}
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
      noValidate
    >
      {isOfAccount && <FieldInput {...shared} field={{ name: 'account_id', kind: 'id' }} />}
      {fields.map((each) => (
        <FieldInput
          {...shared}
          key={each.name}
          field={each}
          hint={props.hints?.[each.name] ?? each.hint}
        />
      ))}
      <Submit kind={props.kind ?? 'main'} aria-busy={isBusy}>
        {submit}
      </Submit>
      {!isShown && <Failure error={error} />}
    </form>
  );
}

/** The mistakes by the path of the field. */
function mistakesIn(error: unknown, within = ''): Refusal['mistakes'] {
  if (!(error instanceof Refusal)) return {};
  return Object.fromEntries(
    Object.entries(error.mistakes).map(([path, text]) => [path.replace(`${within}[0].`, ''), text]),
  );
}

function fieldsOf({ operation, within, fields: names }: FormProps): readonly Field[] {
  const all = declared[operation].input ?? [];
  if (within !== undefined)
    return all.flatMap(({ name, item }) => (name === within ? (item ?? []) : []));
  return names === undefined
    ? all
    : names.flatMap((name) => all.filter((each) => each.name === name));
}

/** The senders that the account may use, and those that it may receive at. */
export function numbersOf(known: World | undefined, account: string): string[] {
  const { sims = [] } = known ?? {};
  const own = sims.filter(({ account_id: id }) => id === account);
  return [...own, ...sims.filter(({ account_id: id }) => id === null)].map(({ number }) => number);
}

/** A list shows its first choice until another one is chosen. */
function withFirstChoices(
  typed: Typed,
  choices: Readonly<Record<string, readonly Choice[]>>,
): Typed {
  const chosen = Object.entries(choices).flatMap(([path, all]) =>
    all.some(({ value }) => value === typed[path]) ? [] : [[path, all[0]?.value ?? '']],
  );
  return { ...typed, ...Object.fromEntries(chosen) };
}
