/**
 * The page Accounts: a row for each account with its keys, numbers, quota and messages, and a page
 * for one of them, where its keys and SIMs are made and changed; and the shared pool.
 */
import { useSignal } from '@preact/signals';
import { searchTerm } from '#src/operations/requests/search-words.ts';
import { call, type Sim } from '../control.ts';
import type { ListDeclaration, Row, TextFact } from '../list-declaration.ts';
import { Check } from '../parts/fields.tsx';
import { Card } from '../parts/frame.tsx';
import { List, OneTimeCard } from '../parts/list.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { Quota, statusLinks } from '../parts/values.tsx';
import { addressOf, pageArgument } from '../route.ts';
import { useWorld } from '../world.ts';

export function AccountsPage() {
  const id = pageArgument.value;
  return id === '' ? <AllAccounts /> : <OneAccount key={id} id={id} />;
}

const allAccounts: ListDeclaration = {
  title: 'Accounts',
  readOperation: 'accounts.list',
  readRows: async () => {
    const reads = [call('accounts.list'), call('accounts.allKeys'), call('sims.all')] as const;
    const [{ accounts }, { keys }, { sims }] = await Promise.all(reads);
    return accounts.map((account) => {
      const { account_id: id, messages } = account;
      const numbers = sims
        .filter((sim) => sim.account_id === id)
        .map(({ number, connected, active }) => `${number}${connected && active ? '' : ' (off)'}`);
      return {
        ...account,
        keys: keys.filter((key) => key.account_id === id && key.revoked_at === null).length,
        numbers: numbers.join(', ') || "the pool's",
        quota_left_this_month: <Quota account={account} />,
        messages: <span class="counts">{statusLinks(messages, { account_id: id })}</span>,
      };
    });
  },
  keyColumn: 'account_id',
  columns: ['name', 'keys', 'numbers', 'quota_left_this_month', 'messages'],
  wideColumns: ['keys', 'numbers', 'messages'],
  links: { name: ({ account_id: id }) => addressOf('accounts', String(id)) },
  lead: 'Accounts are independent: quotas, limits, keys and messages of one do not affect another.',
};

function AllAccounts() {
  return (
    <div class="stack">
      <List declaration={allAccounts} />
      <NewAccount />
      <List declaration={poolList} only={({ account_id: id }) => id === null} />
    </div>
  );
}

/** The first unused number from +12025550200 on; those of the default world are lower. */
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
    // Shown at once: if the number is refused, the key could never be read again.
    made.value = [['API key', key]];
    const number = freeNumber(sims);
    await call('sims.create', String(id), { number });
    made.value = [...made.value, ['Number', number]];
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
          hints={{ monthly_quota: 'Messages a month, or `unlimited`. Empty: as `monthlyQuota`.' }}
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
  const search = searchTerm('account', account?.name ?? id);
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

const accountList: ListDeclaration = {
  title: 'The account',
  readOperation: 'accounts.list',
  keyColumn: 'account_id',
  columns: ['name', 'monthly_quota', 'quota_used', 'effective_monthly_quota'],
  wideColumns: ['effective_monthly_quota'],
  editOperation: 'accounts.patch',
  actions: [
    {
      operation: 'accounts.delete',
      label: 'Delete',
      warning: 'Its keys, SIMs and messages are deleted, too.',
      nextAddress: () => '#/accounts',
    },
  ],
};

const simList: ListDeclaration = {
  title: 'SIMs',
  readOperation: 'sims.all',
  keyColumn: 'device_id',
  columns: ['number', 'connected', 'active', 'allowed', 'polling', 'queue_length'],
  links: {
    queue_length: ({ number }) =>
      `#/messages?from=${encodeURIComponent(`${number}`)}&status=queued`,
  },
  editOperation: 'sims.patch',
  actions: [
    {
      operation: 'sims.poll',
      label: 'Poll now',
      outcomeText: ({ picked_up: ids }) => `${(ids as readonly unknown[]).length} picked up`,
    },
    {
      operation: 'sims.delete',
      label: 'Remove',
      warning: 'Its unfinished messages fail. Its messages stay.',
    },
  ],
  forms: [
    {
      operation: 'sims.create',
      title: 'Connect a SIM',
      submit: 'Connect SIM',
      fields: ['number', 'polling'],
      placeholders: { number: '+12025550177' },
    },
  ],
  emptyText: 'It has no SIM of its own: it sends from the shared pool.',
};

const poolList: ListDeclaration = {
  ...simList,
  title: 'The shared pool',
  forms: [
    {
      operation: 'sims.addToPool',
      title: 'Add a number to the shared pool',
      submit: 'Add number',
      placeholders: { number: '+12025550198' },
    },
  ],
  lead: 'Numbers for accounts without a connected SIM of their own.',
};

const keyList: ListDeclaration = {
  title: 'API keys',
  readOperation: 'accounts.allKeys',
  keyColumn: 'key_id',
  columns: ['name', 'prefix', 'created_at', 'revoked_at'],
  links: { prefix: ({ prefix }) => `#/requests?search=key%3A${prefix}` },
  wideColumns: ['created_at'],
  actions: [
    {
      operation: 'accounts.revokeKey',
      label: 'Revoke',
      warning: 'Requests with this key are answered 401 from now on.',
      isOfferedFor: ({ revoked_at: revokedAt }) => revokedAt === null,
    },
  ],
  forms: [
    {
      operation: 'accounts.createKey',
      title: 'New key',
      submit: 'Create key',
      placeholders: { name: 'What the key is for' },
      oneTimeFacts: ({ name, key }) => [[String(name), String(key)]],
    },
  ],
};
