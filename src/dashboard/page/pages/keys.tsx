/**
 * API keys: created with a name, shown once, revoked. The full key is in this component's memory
 * alone, from its creation until it is put away.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { Action, CopyButton } from '../parts/action.tsx';
import { Select, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { StateBadge } from '../parts/status.tsx';
import { TableScroll } from '../parts/table-scroll.tsx';
import { Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { Account, CreatedKey, Key } from '../wire.ts';
import { useWorld, type World } from '../world.ts';

export function KeysPage() {
  const { value: world, error } = useWorld();
  const created = useSignal<CreatedKey | undefined>(undefined);
  const changes = useSignal(0);
  if (world === undefined) {
    return error === undefined ? <Loading what="keys" /> : <Failure error={error} />;
  }
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
        <Select
          label="Account"
          value={account}
          choices={world.accounts.map(({ account_id: value, name: label }) => ({ value, label }))}
          onChoose={(value) => {
            accountId.value = value;
          }}
        />
        <TextField
          label="Name"
          placeholder="What the key is for"
          value={name.value}
          onType={(value) => {
            name.value = value;
          }}
          problem={sending.problem('name')}
        />
        <button type="submit" class="button main">
          Create key
        </button>
      </form>
      {sending.problem('name') === undefined && <Failure error={sending.error} />}
    </section>
  );
}

function KeyTable({ account, changes }: { readonly account: Account; readonly changes: number }) {
  const { account_id: id, name } = account;
  const { value, error, refresh } = useResource(() => call('accounts.keys', id), {
    on: ['clock'],
    key: `${id} ${changes}`,
  });
  return (
    <section class="card" aria-label={`Keys of ${name}`}>
      <h2>{name}</h2>
      <Failure error={error} />
      {value === undefined ? (
        error === undefined && <Loading what={`keys of ${name}`} />
      ) : value.keys.length === 0 ? (
        <p class="dim">No key yet.</p>
      ) : (
        <TableScroll label={`Keys of ${name}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Begins with</th>
                <th scope="col">Created</th>
                <th scope="col">State</th>
                <th scope="col" class="last">
                  <span class="hidden">Levers</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.keys.map((key) => (
                <KeyRow key={key.key_id} of={key} refresh={refresh} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

function KeyRow({ of: key, refresh }: { readonly of: Key; readonly refresh: () => void }) {
  const asked = useSignal(false);
  const revoke = async () => {
    await call('accounts.revokeKey', key.key_id);
    refresh();
  };
  const isRevoked = key.revoked_at !== null;
  return (
    <tr>
      <th scope="row">{key.name}</th>
      <td class="mono">{key.prefix}…</td>
      <td>
        <Time at={key.created_at} />
      </td>
      <td>
        <StateBadge on={!isRevoked} yes="active" no="revoked" />
        {key.revoked_at !== null && (
          <span class="dim after">
            <Time at={key.revoked_at} />
          </span>
        )}
      </td>
      <td class="last">
        {isRevoked ? null : asked.value ? (
          <Action act={revoke} kind="danger" label={`Really revoke ${key.name}`}>
            Really revoke
          </Action>
        ) : (
          <button
            type="button"
            class="button plain"
            aria-label={`Revoke ${key.name}`}
            onClick={() => {
              asked.value = true;
            }}
          >
            Revoke
          </button>
        )}
      </td>
    </tr>
  );
}
