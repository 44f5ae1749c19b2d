/**
 * The page Accounts: a row for each account with its keys, numbers, quota and messages, and a page
 * for one of them, where its keys and SIMs are made and changed; and the shared pool.
 */
import { useSignal } from '@preact/signals';
import { statuses } from '#contract/message-status.ts';
import { searchWord } from '#src/operations/requests/search-words.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import type { TextFact } from '../list-declaration.ts';
import { accountList, keyList, poolList, simList } from '../lists.ts';
import { SearchInput } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { List } from '../parts/list.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { CopyFacts, Level, StatusBadge } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import { addressOf, filterValue, pageArgument } from '../route.ts';
import type { Account, Reply, Sim } from '../wire.ts';
import { counted } from '../words.ts';
import { useWorld } from '../world.ts';

export function AccountsPage() {
  const id = pageArgument.value;
  return id === '' ? <AllAccounts /> : <OneAccount key={id} id={id} />;
}

type Key = Reply<'accounts.allKeys'>['keys'][number];
interface Owned {
  readonly account: Account;
  readonly keys: readonly Key[];
  readonly sims: readonly Sim[];
}

const columns: readonly Column<Owned>[] = [
  {
    head: 'Account',
    namesRow: true,
    kind: 'breaks',
    cell: ({ account }) => <a href={addressOf('accounts', account.account_id)}>{account.name}</a>,
  },
  {
    head: 'Keys',
    cell: ({ keys }) => keys.filter(({ revoked_at: revoked }) => revoked === null).length,
    kind: 'number',
  },
  {
    head: 'Numbers',
    kind: 'mono',
    cell: ({ sims }) =>
      sims.length === 0 ? (
        <span class="dim">the pool's</span>
      ) : (
        sims.map(({ number, connected, active }) => (
          <div key={number}>
            {number}
            {(!connected || !active) && <b class="problem"> off</b>}
          </div>
        ))
      ),
  },
  {
    head: 'Quota left this month',
    kind: 'wide',
    cell: ({ account: { name, quota_used: used, effective_monthly_quota: quota } }) =>
      quota === 'unlimited' ? (
        <span class="dim">unlimited</span>
      ) : (
        <Level
          name={`messages of ${name} left this month`}
          remaining={quota - used}
          limit={quota}
        />
      ),
  },
  {
    head: 'Messages',
    kind: 'wide',
    cell: ({ account: { account_id, messages } }) => (
      <span class="actions">
        {statuses
          .filter((status) => messages[status] > 0)
          .map((status) => (
            <a key={status} href={addressOf('messages', '', { account_id, status })}>
              <StatusBadge status={status} /> {messages[status].toLocaleString('en')}
            </a>
          ))}
      </span>
    ),
  },
];

/** Accounts that are shown at once; a search finds the others. */
const mostShown = 100;
const mostWithoutSearch = 10;

function AllAccounts() {
  const world = useWorld();
  const keys = useResource(() => call('accounts.allKeys'), { rereadAfter: ['operation', 'clock'] });
  const search = filterValue('Accounts').toLowerCase();
  const all = world && keys.value && ownedOf(world, keys.value.keys);
  const rows = all?.filter(
    ({ account, sims }) =>
      account.name.toLowerCase().includes(search) ||
      sims.some(({ number }) => number.includes(search)),
  );
  return (
    <div class="stack">
      <Card
        title="Accounts"
        head={
          (all?.length ?? 0) > mostWithoutSearch && (
            <SearchInput name="Accounts" label="Search name or number" />
          )
        }
        lead="Accounts are independent: quotas, limits, keys and messages of one do not affect another."
      >
        <Loaded resource={{ value: rows, error: keys.error }} what="accounts" isQuiet>
          {(owned) =>
            owned.length === 0 ? (
              <Empty title={search === '' ? 'There is no account.' : 'No account matches.'} />
            ) : (
              <Table
                label="Table of Accounts"
                columns={columns}
                rows={owned.slice(0, mostShown)}
                keyOf={({ account }) => account.account_id}
              />
            )
          }
        </Loaded>
        {rows !== undefined && rows.length > mostShown && (
          <p class="foot dim">The first {counted(mostShown, 'account')}.</p>
        )}
      </Card>
      <NewAccount />
      <List declaration={poolList} only={({ account_id: id }) => id === null} />
    </div>
  );
}

function ownedOf(
  { accounts, sims }: NonNullable<ReturnType<typeof useWorld>>,
  keys: readonly Key[],
): readonly Owned[] {
  return accounts.map((account) => {
    const isOwn = ({ account_id: id }: { readonly account_id: string | null }) =>
      id === account.account_id;
    return { account, keys: keys.filter(isOwn), sims: sims.filter(isOwn) };
  });
}

/** The first free one of the numbers that nothing else of the default world uses. */
function freeNumber(sims: readonly Sim[]): string {
  const used = new Set(sims.map(({ number }) => number));
  for (let last = 200; ; last++) {
    const number = `+1202555${String(last).padStart(4, '0')}`;
    if (!used.has(number)) return number;
  }
}

function NewAccount() {
  const world = useWorld();
  const isComplete = useSignal(true);
  const made = useSignal<readonly TextFact[]>([]);
  const complete = async (id: string) => {
    const { key } = await call('accounts.createKey', id, { name: 'first' });
    const number = freeNumber(world?.sims ?? []);
    await call('sims.create', id, { number });
    made.value = [
      ['Base URL', state.value?.base_url ?? ''],
      ['API key', key],
      ['Number', number],
    ];
  };
  return (
    <Card title="New account">
      {made.value.length > 0 && (
        <div role="alert">
          <p>Copy the key now: it is never shown again.</p>
          <CopyFacts facts={made.value} />
        </div>
      )}
      <OperationForm
        operation="accounts.create"
        submit="Create account"
        placeholders={{ monthly_quota: 'as the assumption monthlyQuota' }}
        onDone={async ({ account_id: id }) => {
          made.value = [];
          if (isComplete.value) await complete(String(id));
        }}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={isComplete.value}
          onChange={({ currentTarget }) => (isComplete.value = currentTarget.checked)}
        />
        with a key and a number
      </label>
    </Card>
  );
}

function OneAccount({ id }: { readonly id: string }) {
  const account = useWorld()?.accounts.find(({ account_id: each }) => each === id);
  const isOwn = ({ account_id: each }: { readonly account_id?: unknown }) => each === id;
  const search = searchWord('account', account?.name ?? id);
  return (
    <div class="stack">
      <p class="actions">
        <a href="#/accounts">All accounts</a>
        <a href={addressOf('requests', '', { search })}>Its requests</a>
        <a href={addressOf('messages', '', { account_id: id })}>Its messages</a>
        <a href={addressOf('limits', '', { account_id: id })}>Its limits</a>
        <a href="#/referee">Findings</a>
      </p>
      <List declaration={accountList} only={isOwn} />
      <List declaration={keyList} only={isOwn} accountId={id} />
      <List declaration={simList} only={isOwn} accountId={id} />
    </div>
  );
}
