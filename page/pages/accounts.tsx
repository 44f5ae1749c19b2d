/**
 * The page Accounts: a row for each account with its keys, numbers, quota and messages, and a page
 * for one of them, where its keys and SIMs are made and changed; and the shared pool.
 */
import { useSignal } from '@preact/signals';
import { searchWord } from '#src/operations/requests/search-words.ts';
import { accountList, keyList, poolList, simList } from '../account-lists.ts';
import { call } from '../control.ts';
import type { Row, TextFact } from '../list-declaration.ts';
import { Check } from '../parts/fields.tsx';
import { Card } from '../parts/frame.tsx';
import { List, OneTimeCard } from '../parts/list.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { type Column, TableCard } from '../parts/table.tsx';
import { Quota, statusLinks } from '../parts/values.tsx';
import { useReply } from '../resource.ts';
import { addressOf, pageArgument } from '../route.ts';
import type { Account, Reply, Sim } from '../wire.ts';
import { useWorld } from '../world.ts';

export function AccountsPage() {
  const id = pageArgument.value;
  return id === '' ? <AllAccounts /> : <OneAccount key={id} id={id} />;
}

type Key = Reply<'accounts.allKeys'>['keys'][number];
interface Owned {
  readonly account: Account;
  /** Undefined until they are read. */
  readonly keys: readonly Key[] | undefined;
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
    cell: ({ keys }) => keys?.filter(({ revoked_at: revoked }) => revoked === null).length,
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
    cell: ({ account }) => <Quota account={account} />,
  },
  {
    head: 'Messages',
    kind: 'wide',
    cell: ({ account: { account_id, messages } }) => (
      <span class="actions">{statusLinks(messages, { account_id })}</span>
    ),
  },
];

function AllAccounts() {
  const world = useWorld();
  const keys = useReply('accounts.allKeys', [], ['operation', 'clock']);
  const owned = world?.accounts.map((account): Owned => {
    const isOwn = ({ account_id: id }: { readonly account_id: string | null }) =>
      id === account.account_id;
    return { account, keys: keys.value?.keys.filter(isOwn), sims: world.sims.filter(isOwn) };
  });
  return (
    <div class="stack">
      <p>
        Accounts are independent: quotas, limits, keys and messages of one do not affect another.
      </p>
      <TableCard
        title="Accounts"
        resource={{ value: owned, error: keys.error }}
        columns={columns}
        keyOf={({ account }) => account.account_id}
        searched={({ account, sims }) => [account.name, ...sims.map(({ number }) => number)]}
        emptyText="There is no account."
      />
      <NewAccount />
      <List declaration={poolList} only={({ account_id: id }) => id === null} />
    </div>
  );
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
  const sims = useWorld()?.sims ?? [];
  const isComplete = useSignal(true);
  const made = useSignal<readonly TextFact[]>([]);
  const complete = async ({ account_id: id }: Row) => {
    made.value = [];
    if (!isComplete.value) return;
    const { key } = await call('accounts.createKey', String(id), { name: 'first' });
    const number = freeNumber(sims);
    await call('sims.create', String(id), { number });
    made.value = Object.entries({ 'API key': key, Number: number });
  };
  return (
    <>
      {made.value.length > 0 && (
        <OneTimeCard title="The key" facts={made.value} onDismiss={() => (made.value = [])} />
      )}
      <Card title="New account">
        <OperationForm
          operation="accounts.create"
          submit="Create account"
          placeholders={{ monthly_quota: 'as the assumption monthlyQuota' }}
          onDone={complete}
        />
        <Check isOn={isComplete}>with a key and a number</Check>
      </Card>
    </>
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
      {[accountList, keyList, simList].map((declaration) => (
        <List key={declaration.title} declaration={declaration} only={isOwn} accountId={id} />
      ))}
    </div>
  );
}
