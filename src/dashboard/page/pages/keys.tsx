/**
 * The page API keys: keys are created with a name, shown once, and revoked. The full key is held
 * only by this component, from its creation until the user dismisses it.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { ConfirmedAction, CopyButton } from '../parts/action.tsx';
import { Select, Submit, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loaded } from '../parts/notices.tsx';
import { StateBadge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { Account, CreatedKey, Key } from '../wire.ts';
import { accountChoices, useWorld, type World } from '../world.ts';

export function KeysPage() {
  return (
    <Loaded of={useWorld()} what="keys" isQuiet>
      {(world) => <AllKeys world={world} />}
    </Loaded>
  );
}

function AllKeys({ world }: { readonly world: World }) {
  const created = useSignal<CreatedKey | undefined>(undefined);
  const changes = useSignal(0);
  if (world.accounts.length === 0) return <Empty title="There is no account to have keys." />;
  return (
    <div class="stack">
      {created.value !== undefined && (
        <NewKey
          created={created.value}
          onDone={() => {
            created.value = undefined;
          }}
        />
      )}
      <KeyForm
        world={world}
        onCreated={(key) => {
          created.value = key;
          changes.value++;
        }}
      />
      {world.accounts.map((account) => (
        <KeyTable key={account.account_id} account={account} changes={changes.value} />
      ))}
    </div>
  );
}

function NewKey(props: { readonly created: CreatedKey; readonly onDone: () => void }) {
  const { name, key } = props.created;
  return (
    <section class="card new-key" aria-label="New key" role="alert">
      <h2>{name} was created</h2>
      <p>Copy the key now: it is never shown again.</p>
      <p class="key mono">{key}</p>
      <div class="actions">
        <CopyButton text={() => key}>Copy key</CopyButton>
        <button type="button" class="button plain" onClick={props.onDone}>
          I have it
        </button>
      </div>
    </section>
  );
}

interface KeyFormProps {
  readonly world: World;
  readonly onCreated: (key: CreatedKey) => void;
}

function KeyForm({ world, onCreated }: KeyFormProps) {
  const accountId = useSignal('');
  const name = useSignal('');
  const account = accountId.value || (world.accounts[0]?.account_id ?? '');
  const sending = useSending(async () => {
    onCreated(await call('accounts.createKey', account, { name: name.value }));
    name.value = '';
  });
  return (
    <section class="card" aria-labelledby="key-title">
      <h2 id="key-title">New key</h2>
      <form class="row" onSubmit={sending.onSubmit}>
        <Select label="Account" of={accountId} value={account} choices={accountChoices(world)} />
        <TextField
          label="Name"
          placeholder="What the key is for"
          of={name}
          problem={sending.problem('name')}
        />
        <Submit>Create key</Submit>
      </form>
      {sending.problem('name') === undefined && <Failure error={sending.error} />}
    </section>
  );
}

function KeyTable({ account, changes }: { readonly account: Account; readonly changes: number }) {
  const { account_id: id, name } = account;
  const keys = useResource(() => call('accounts.keys', id), {
    on: ['clock'],
    key: `${id} ${changes}`,
  });
  const revoke = (key: Key) => async () => {
    await call('accounts.revokeKey', key.key_id);
    keys.refresh();
  };
  const columns: readonly Column<Key>[] = [
    { head: 'Name', cell: (key) => key.name, namesRow: true },
    { head: 'Begins with', cell: ({ prefix }) => `${prefix}…`, cellKind: 'mono' },
    { head: 'Created', cell: (key) => <Time at={key.created_at} /> },
    { head: 'State', cell: stateOf },
    {
      head: 'Operations',
      cell: (key) =>
        key.revoked_at === null && (
          <ConfirmedAction act={revoke(key)} what={key.name}>
            Revoke
          </ConfirmedAction>
        ),
      kind: 'last',
      isHeadHidden: true,
    },
  ];
  return (
    <section class="card" aria-label={`Keys of ${name}`}>
      <h2>{name}</h2>
      <Loaded of={keys} what={`keys of ${name}`}>
        {({ keys: all }) =>
          all.length === 0 ? (
            <p class="dim">No key yet.</p>
          ) : (
            <Table
              label={`Keys of ${name}`}
              columns={columns}
              rows={all}
              keyOf={(key) => key.key_id}
            />
          )
        }
      </Loaded>
    </section>
  );
}

function stateOf({ revoked_at: revokedAt }: Key) {
  return (
    <>
      <StateBadge on={revokedAt === null} yes="active" no="revoked" />
      {revokedAt !== null && (
        <span class="dim after">
          <Time at={revokedAt} />
        </span>
      )}
    </>
  );
}
