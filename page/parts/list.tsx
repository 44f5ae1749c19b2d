/**
 * Draws one declared list of `page/lists.ts`: a table of the objects (`list-columns.tsx` has its
 * columns), forms that add objects, and the secrets that a reply shows only once.
 */
import { useSignal } from '@preact/signals';
import { callAny, declared } from '../control.ts';
import { kinds } from '../events.ts';
import type { ListDeclaration, Row, RowAction, TextFact } from '../list-declaration.ts';
import { useResource } from '../resource.ts';
import { useWorld } from '../world.ts';
import { Action } from './action.tsx';
import { Card } from './frame.tsx';
import { cellText, columnsOf, nameOf } from './list-columns.tsx';
import { OperationForm } from './operation-form.tsx';
import { TableCard } from './table.tsx';
import { CopyFacts } from './values.tsx';

/** Values that only one reply contains, such as a new key. `title`: what was done. */
type OneTimeReply = Readonly<{ title: string; facts: readonly TextFact[] }>;

type ListProps = Readonly<{
  declaration: ListDeclaration;
  only?: (row: Row) => boolean;
  accountId?: string;
}>;

/** `only` selects rows. `accountId`: for which the forms add; default: the user chooses. */
export function List({ declaration, only = () => true, accountId }: ListProps) {
  const { title, keyColumn, forms = [], lead } = declaration;
  const rows = useRows(declaration, only);
  const oneTimeReply = useSignal<OneTimeReply | undefined>(undefined);
  const statusText = useSignal('');
  const showOnce = (done: string, facts: readonly TextFact[] | undefined) => {
    if (facts !== undefined) oneTimeReply.value = { title: done, facts };
  };
  const runAction = async (row: Row, action: RowAction) => {
    const { operation, toInput, label, outcomeText, nextAddress, oneTimeFacts } = action;
    const rowName = nameOf(declaration, row);
    const id = declared[operation].route.includes('{') ? [row[keyColumn]] : [];
    const input = toInput === undefined ? [] : [toInput(row, rows.value ?? [])];
    const reply = await callAny(operation, ...id, ...input);
    if (outcomeText !== undefined) statusText.value = `${rowName}: ${outcomeText(reply)}.`;
    const address = nextAddress?.(row);
    if (address !== undefined) location.assign(address);
    showOnce(`${label} ${rowName}`, oneTimeFacts?.(reply));
  };
  return (
    <>
      {lead !== undefined && <p>{lead}</p>}
      {oneTimeReply.value !== undefined && (
        <OneTimeCard
          {...oneTimeReply.value}
          note={declaration.oneTimeNote}
          onDismiss={() => (oneTimeReply.value = undefined)}
        />
      )}
      <TableCard
        title={title}
        resource={rows}
        columns={columnsOf(declaration, rows.value?.[0], runAction)}
        keyOf={(row) => String(row[keyColumn])}
        searchedBy={declaration.searchedBy}
        searched={(row) => Object.entries(row).map(([name, value]) => cellText(name, value))}
        emptyText={declaration.emptyText}
        emptySearches={declaration.emptySearches}
        head={
          <p class="dim" role="status">
            {statusText.value}
          </p>
        }
      />
      <div class="columns">
        {forms.map((form) => (
          <Card key={form.title} title={form.title}>
            <OperationForm
              {...form}
              accountId={accountId}
              rows={rows.value ?? []}
              onDone={(reply) => showOnce(form.title, form.oneTimeFacts?.(reply))}
            />
          </Card>
        ))}
      </div>
    </>
  );
}

/** The rows of the list, read again after what changes them. */
function useRows(declaration: ListDeclaration, only: (row: Row) => boolean) {
  const { readOperation, readRows, settingColumn } = declaration;
  // Keeps the account names that cells show up to date; settings show none.
  useWorld(settingColumn === undefined);
  const readAll = async () => {
    const read = await readRows?.();
    // Otherwise the reply has one field: the rows.
    const all = read ?? (Object.values(await callAny(readOperation))[0] as readonly Row[]);
    return all.filter(only);
  };
  const isSteady = declaration.isSteady ?? settingColumn !== undefined;
  return useResource(readAll, isSteady ? ['operation'] : kinds);
}

type OneTimeCardProps = OneTimeReply &
  Readonly<{ note?: string | undefined; onDismiss: () => void }>;

export function OneTimeCard(props: OneTimeCardProps) {
  return (
    <Card class="card once" title={props.title} role="alert">
      <p>{props.note ?? 'Copy it now: a key is never shown again.'}</p>
      <CopyFacts facts={props.facts} />
      <div class="actions">
        <Action act={props.onDismiss}>I have it</Action>
      </div>
    </Card>
  );
}
