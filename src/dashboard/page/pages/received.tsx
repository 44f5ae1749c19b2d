/**
 * The page Received: the inbound messages of all accounts, and a form to inject one.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { choicesOf, Select, Submit, TextArea, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loaded } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { Received } from '../wire.ts';
import { accountChoices, accountName, useWorld, type World } from '../world.ts';

interface Entry extends Received {
  readonly account_id: string;
}

export function ReceivedPage() {
  return (
    <Loaded of={useWorld()} what="accounts" isQuiet>
      {(world) =>
        world.accounts.length === 0 ? (
          <Empty title="There is no account to receive." />
        ) : (
          <Inbox world={world} />
        )
      }
    </Loaded>
  );
}

const betweenReadsMs = 2_000;

function Inbox({ world }: { readonly world: World }) {
  const ids = world.accounts.map(({ account_id: id }) => id);
  const received = useResource(() => readAll(ids), {
    on: ['clock'],
    everyMs: betweenReadsMs,
    key: ids.join(),
  });
  return (
    <div class="columns side">
      <section class="card" aria-label="Received messages">
        <Loaded of={received} what="received messages">
          {(entries) =>
            entries.length === 0 ? (
              <Empty title="Nothing received yet.">
                <p>Inject a message, as if a phone had sent it to one of the numbers.</p>
              </Empty>
            ) : (
              <Entries entries={entries} world={world} />
            )
          }
        </Loaded>
      </section>
      <InjectForm world={world} refresh={received.refresh} />
    </div>
  );
}

async function readAll(ids: readonly string[]): Promise<Entry[]> {
  const lists = await Promise.all(
    ids.map(async (account_id) => {
      const { received } = await call('sims.received', account_id);
      return received.map((one) => ({ ...one, account_id }));
    }),
  );
  return lists.flat().sort((a, b) => (a.received_at < b.received_at ? 1 : -1));
}

function Entries(props: { readonly entries: readonly Entry[]; readonly world: World }) {
  const columns: readonly Column<Entry>[] = [
    { head: 'Received', cell: (one) => <Time at={one.received_at} /> },
    { head: 'From', cell: (one) => one.from_number, cellKind: 'mono' },
    { head: 'To', cell: ({ to }) => to, cellKind: 'mono' },
    { head: 'Account', cell: (one) => accountName(props.world, one.account_id), kind: 'wide' },
    { head: 'Text', cell: ({ message }) => message, cellKind: 'breaks' },
  ];
  return (
    <Table
      label="Received messages"
      columns={columns}
      rows={props.entries}
      keyOf={(one) => one.message_id}
    />
  );
}

function InjectForm({ world, refresh }: { readonly world: World; readonly refresh: () => void }) {
  const accountId = useSignal('');
  const to = useSignal('');
  const from = useSignal('+12025550155');
  const text = useSignal('');
  const account = accountId.value || (world.accounts[0]?.account_id ?? '');
  const own = world.sims.filter(({ account_id: id }) => id === account);
  const numbers = [...own, ...world.pool].map(({ number }) => number);
  const chosen = numbers.includes(to.value) ? to.value : (numbers[0] ?? '');
  const sending = useSending(async () => {
    await call('sims.receive', account, {
      from: from.value,
      to: chosen,
      message: text.value,
    });
    text.value = '';
    refresh();
  });
  return (
    <form class="card form" aria-label="Inject a message" onSubmit={sending.onSubmit}>
      <h2>Inject a message</h2>
      <Select label="Account" of={accountId} value={account} choices={accountChoices(world)} />
      <Select label="To" of={to} value={chosen} choices={choicesOf(numbers)} />
      <TextField
        label="From"
        of={from}
        hint="A number or a name."
        problem={sending.problem('from')}
      />
      <TextArea label="Message" of={text} rows={3} />
      {sending.problem('from') === undefined && <Failure error={sending.error} />}
      <div class="actions">
        <Submit>Inject</Submit>
      </div>
    </form>
  );
}
