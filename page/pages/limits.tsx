/**
 * The page Limits: a plot of the requests made and refused over time, how many requests each
 * account has left at each endpoint, and a form that changes the limits.
 */
import { endpointNames } from '#contract/limits.ts';
import { type Account, type Bucket, call } from '../control.ts';
import { limitList } from '../lists.ts';
import { Action } from '../parts/action.tsx';
import { List } from '../parts/list.tsx';
import { type Column, TableCard } from '../parts/table.tsx';
import { Level, Quota, ThrottledUntil } from '../parts/values.tsx';
import { useReply } from '../resource.ts';
import { useBuckets } from '../world.ts';
import { RequestPlot } from './request-plot.tsx';

export function LimitsPage() {
  const accounts = useReply('accounts.list', [], ['messages', 'operation']).value?.accounts;
  const buckets = useBuckets();
  const { columns, rows } = gauges(buckets.value?.buckets ?? [], accounts ?? []);
  return (
    <div class="stack">
      <RequestPlot accounts={accounts ?? []} buckets={buckets.value?.buckets ?? []} />
      <TableCard
        title="Requests that would pass now"
        head={<Action act={() => call('limits.reset')}>Fill every bucket</Action>}
        resource={{ value: accounts && buckets.value && rows, error: buckets.error }}
        columns={columns}
        keyOf={(account) => account.account_id}
        searched={({ name }) => [name]}
        emptyText="No endpoint is limited."
      />
      <List declaration={limitList} />
    </div>
  );
}

/** A table with a gauge for each account and limited endpoint; who is throttled comes first. */
function gauges(buckets: readonly Bucket[], accounts: readonly Account[]) {
  const limited = endpointNames.filter((name) => buckets.some(({ endpoint }) => endpoint === name));
  const bucketOf = new Map(
    buckets.map((bucket) => [`${bucket.endpoint} ${bucket.account_id}`, bucket]),
  );
  const columns: readonly Column<Account>[] = [
    {
      head: 'Account',
      cell: ({ name }) => <span title={name}>{name}</span>,
      namesRow: true,
      class: 'short',
    },
    { head: 'Monthly quota', cell: (account) => <Quota account={account} />, class: 'wide' },
    ...limited.map((endpoint) => ({
      head: endpoint,
      cell: ({ account_id: id, name }: Account) => (
        <Gauge name={`${endpoint} of ${name}`} bucket={bucketOf.get(`${endpoint} ${id}`)} />
      ),
    })),
  ];
  const throttled = new Set(
    buckets.filter(({ next_at: nextAt }) => nextAt !== null).map(({ account_id: id }) => id),
  );
  const isThrottledFirst = (a: Account, b: Account) =>
    Number(throttled.has(b.account_id)) - Number(throttled.has(a.account_id));
  return { columns, rows: limited.length === 0 ? [] : [...accounts].sort(isThrottledFirst) };
}

function Gauge({ name, bucket }: { readonly name: string; readonly bucket: Bucket | undefined }) {
  if (bucket === undefined) return <span class="dim">full</span>;
  const { available, limit, next_at: nextAt } = bucket;
  return (
    <>
      <Level name={`${name}: requests left`} remaining={available} limit={limit} />
      {nextAt !== null && (
        <span class="problem">
          <ThrottledUntil at={nextAt} />
        </span>
      )}
    </>
  );
}
