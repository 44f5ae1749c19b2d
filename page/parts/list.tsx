/**
 * Draws one declared list of `page/lists.ts`: forms that add objects, the secrets that a reply
 * shows only once, and a table of the objects with inputs and buttons in each row.
 */
import { useSignal } from '@preact/signals';
import { callAny, declared } from '../control.ts';
import type { ListDeclaration, Row, RowAction, TextFact } from '../list-declaration.ts';
import { useResource } from '../resource.ts';
import { shownWorld } from '../route.ts';
import type { OperationName } from '../wire.ts';
import { useWorld } from '../world.ts';
import { Card, Loaded } from './frame.tsx';
import { columnsOf, nameOf } from './list-columns.tsx';
import { OperationForm } from './operation-form.tsx';
import { SearchableTable } from './searchable-table.tsx';
import { CopyFacts } from './values.tsx';

const rereadAfter = ['sim', 'message', 'traffic', 'clock', 'operation'] as const;

/** Values that only one reply contains, such as a new key. */
interface OneTimeReply {
  /** The operation that was done. */
  readonly title: string;
  readonly facts: readonly TextFact[];
}

export function List({ declaration }: { readonly declaration: ListDeclaration }) {
  const { title, readOperation, readRows, keyColumn, lead, forms = [] } = declaration;
  // Keeps the account names that cells show up to date.
  useWorld();
  const rows = useResource(() => readRows?.(callAny) ?? onlyListOf(readOperation), {
    rereadAfter,
  });
  const oneTimeReply = useSignal<OneTimeReply | undefined>(undefined);
  const statusText = useSignal('');
  const finish = (done: string, facts: readonly TextFact[] | undefined) => {
    if (facts !== undefined) oneTimeReply.value = { title: done, facts };
    rows.refresh();
  };
  const runAction = async (row: Row, action: RowAction) => {
    const { operation, toInput, label, outcomeText, nextAddress, oneTimeFacts } = action;
    const rowName = nameOf(declaration, row);
    const id = declared[operation].route.includes('{') ? [row[keyColumn]] : [];
    const input = toInput === undefined ? [] : [toInput(row, rows.value ?? [])];
    const reply = await callAny(operation, ...id, ...input);
    if (outcomeText !== undefined) statusText.value = `${rowName}: ${outcomeText(reply)}.`;
    const address = nextAddress?.(row, shownWorld);
    if (address !== undefined) location.assign(address);
    finish(`${label} ${rowName}`, oneTimeFacts?.(reply));
  };
  const changeField = async (row: Row, name: string, value: unknown) => {
    const { editOperation = readOperation, settingColumn } = declaration;
    const id = settingColumn === undefined ? [row[keyColumn]] : [];
    await callAny(editOperation, ...id, { [name]: value });
    rows.refresh();
  };
  const columns = columnsOf(declaration, runAction, changeField);
  return (
    <>
      {lead !== undefined && <p>{lead}</p>}
      {oneTimeReply.value !== undefined && (
        <OneTimeCard {...oneTimeReply.value} onDismiss={() => (oneTimeReply.value = undefined)} />
      )}
      <div class="columns">
        {forms.map((form) => (
          <Card key={form.title} title={form.title}>
            <OperationForm
              {...form}
              rows={rows.value ?? []}
              onDone={(reply) => finish(form.title, form.oneTimeFacts?.(reply))}
            />
          </Card>
        ))}
      </div>
      <section class="card" aria-label={title}>
        <Loaded resource={rows} what={title} isQuiet>
          {(loadedRows) => (
            <SearchableTable
              declaration={declaration}
              rows={loadedRows}
              columns={columns}
              statusText={statusText.value}
            />
          )}
        </Loaded>
      </section>
    </>
  );
}

function OneTimeCard(props: OneTimeReply & { readonly onDismiss: () => void }) {
  return (
    <Card class="card once" title={`${props.title}: done`} role="alert">
      <p>Copy what you need now: a key is never shown again.</p>
      <CopyFacts facts={props.facts} />
      <div class="actions">
        <button type="button" class="button plain" onClick={props.onDismiss}>
          I have it
        </button>
      </div>
    </Card>
  );
}

/** The reply to the operation has one field, a list: the rows. */
async function onlyListOf(operation: OperationName): Promise<readonly Row[]> {
  return Object.values(await callAny(operation))[0] as readonly Row[];
}
