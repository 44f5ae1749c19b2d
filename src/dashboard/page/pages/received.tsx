/**
 * Received: the inbound messages of each account, and one injected from outside.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { Field, Select, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { TableScroll } from '../parts/table-scroll.tsx';
import { Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { Received } from '../wire.ts';
import { accountName, useWorld, type World } from '../world.ts';

interface Entry extends Received {
  readonly account_id: string;
}

export function ReceivedPage() {
  const { value: world, error } = useWorld();
  if (world === undefined) {
    return error === undefined ? <Loading what="accounts" /> : <Failure error={error} />;
  }
  if (world.accounts.length === 0) return <Empty title="There is no account to receive." />;
  return <Inbox world={world} />;
}

const betweenReadsMs = 2_000;

function Inbox({ world }: { readonly world: World }) {
  const ids = world.accounts.map(({ account_id: id }) => id);
  const { value, error, refresh } = useResource(() => readAll(ids), {
    on: ['clock'],
    everyMs: betweenReadsMs,
    key: ids.join(),
  });
  return (
    <div class="columns side">
      <section class="card" aria-label="Received messages">
        <Failure error={error} />
        {value === undefined ? (
          <Loading what="received messages" />
        ) : value.length === 0 ? (
          <Empty title="Nothing received yet.">
            <p>Inject a message, as if somebody had written to one of the numbers.</p>
          </Empty>
        ) : (
          <Entries entries={value} world={world} />
        )}
      </section>
      <InjectForm world={world} refresh={refresh} />
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
  return (
    <TableScroll label="Received messages">
      <table>
        <thead>
          <tr>
            <th scope="col">Received</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col" class="wide">
              Account
            </th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {props.entries.map((one) => (
            <tr key={one.message_id}>
              <td>
                <Time at={one.received_at} />
              </td>
              <td class="mono">{one.from_number}</td>
              <td class="mono">{one.to}</td>
              <td class="wide">{accountName(props.world, one.account_id)}</td>
              <td class="breaks">{one.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function InjectForm({ world, refresh }: { readonly world: World; readonly refresh: () => void }) {
  const accountId = useSignal('');
  const to = useSignal('');
  const from = useSignal('+12025550155');
  const text = useSignal('');
  const account = accountId.value || (world.accounts[0]?.account_id ?? '');
  const numbers = [...world.sims.filter(({ account_id: id }) => id === account), ...world.pool].map(
    ({ number }) => ({ value: number, label: number }),
  );
  const chosen = numbers.some(({ value }) => value === to.value)
    ? to.value
    : (numbers[0]?.value ?? '');
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
      <Select
        label="Account"
        value={account}
        choices={world.accounts.map(({ account_id: value, name }) => ({ value, label: name }))}
        onChoose={(value) => {
          accountId.value = value;
        }}
      />
      <Select
        label="To"
        value={chosen}
        choices={numbers}
        onChoose={(value) => {
          to.value = value;
        }}
      />
      <TextField
        label="From"
        value={from.value}
        onType={(value) => {
          from.value = value;
        }}
        hint="A number or a name."
        problem={sending.problem('from')}
      />
      <Field label="Message">
        {(ids) => (
          <textarea
            {...ids}
            rows={3}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        )}
      </Field>
      {sending.problem('from') === undefined && <Failure error={sending.error} />}
      <div class="actions">
        <button type="submit" class="button main">
          Inject
        </button>
      </div>
    </form>
  );
}
