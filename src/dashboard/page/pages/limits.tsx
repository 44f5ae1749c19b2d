/**
 * The page Limits: how many requests each account has left at each endpoint, how many were made
 * and refused over time, and a form to change the limits.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { readFields, wholeNumber } from '../numbers.ts';
import { Action } from '../parts/action.tsx';
import { Submit, type Text, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loaded } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useResource } from '../resource.ts';
import { type Account, type Bucket, type Endpoint, endpoints } from '../wire.ts';
import { useWorld, type World } from '../world.ts';
import { RequestPlot } from './request-plot.tsx';

const betweenReadsMs = 1_000;
const highestLimit = 1_000_000;

export function LimitsPage() {
  const world = useWorld().value;
  const buckets = useResource(() => call('limits.buckets'), {
    on: ['traffic', 'clock'],
    everyMs: betweenReadsMs,
  });
  const refill = async () => {
    await call('limits.reset');
    buckets.refresh();
  };
  return (
    <div class="stack">
      <RequestPlot />
      <section class="card" aria-labelledby="gauges-title">
        <div class="card-head">
          <h2 id="gauges-title">Requests left this minute</h2>
          <Action act={refill}>Fill every bucket</Action>
        </div>
        <Loaded of={{ ...buckets, value: world && buckets.value }} what="limits">
          {(value) => world && <Gauges buckets={value.buckets} world={world} />}
        </Loaded>
      </section>
      <LimitForm onChanged={buckets.refresh} />
    </div>
  );
}

function Gauges(props: { readonly buckets: readonly Bucket[]; readonly world: World }) {
  const { buckets, world } = props;
  const limited = endpoints.filter((name) => buckets.some(({ endpoint }) => endpoint === name));
  if (limited.length === 0) return <Empty title="No endpoint is limited." />;
  const columns: readonly Column<Account>[] = [
    { head: 'Account', cell: ({ name }) => name, namesRow: true },
    ...limited.map((endpoint) => ({
      head: endpoint,
      cell: ({ account_id: id, name }: Account) => (
        <Gauge
          name={`${endpoint} of ${name}`}
          bucket={buckets.find((one) => one.account_id === id && one.endpoint === endpoint)}
        />
      ),
    })),
  ];
  return (
    <Table
      label="Requests left"
      kind="gauges"
      columns={columns}
      rows={world.accounts}
      keyOf={(account) => account.account_id}
    />
  );
}

function Gauge({ name, bucket }: { readonly name: string; readonly bucket: Bucket | undefined }) {
  if (bucket === undefined) return <span class="dim">full</span>;
  const { available, limit } = bucket;
  const level = available === 0 ? 'empty' : available < limit / 4 ? 'low' : 'fine';
  return (
    <div class={`gauge gauge-${level}`}>
      <meter
        class="hidden"
        aria-label={`${name}: requests left`}
        min={0}
        max={limit}
        value={available}
      />
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${(100 * available) / limit}%` }} />
      </span>
      <span>
        <b>{available}</b> <span class="dim">of {limit}</span>
        {level === 'empty' && <span class="problem"> now 429</span>}
      </span>
    </div>
  );
}

/** Null: not limited. */
function readLimit(text: string): number | null {
  const trimmed = text.trim();
  return trimmed === '' || trimmed === 'off' ? null : wholeNumber(trimmed, 1, highestLimit);
}

function LimitForm({ onChanged }: { readonly onChanged: () => void }) {
  const limits = useResource(() => call('limits.get'), { on: ['clock'] });
  const typed = useSignal<Partial<Record<Endpoint, string>>>({});
  const sending = useSending(async () => {
    const readers = Object.entries(typed.value).map(([name, text]) => [
      name,
      () => readLimit(text),
    ]);
    await call('limits.patch', readFields(Object.fromEntries(readers)));
    typed.value = {};
    limits.refresh();
    onChanged();
  });
  if (limits.value === undefined) return null;
  const now = limits.value;
  const fieldOf = (name: Endpoint): Text => ({
    get value() {
      return typed.value[name] ?? (now[name] === null ? '' : String(now[name]));
    },
    set value(text) {
      typed.value = { ...typed.value, [name]: text };
    },
  });
  return (
    <section class="card" aria-labelledby="limits-title">
      <h2 id="limits-title">Requests per minute</h2>
      <form class="form" onSubmit={sending.onSubmit} noValidate>
        <div class="row">
          {endpoints.map((name) => (
            <TextField
              key={name}
              label={name}
              placeholder="off"
              of={fieldOf(name)}
              problem={sending.problem(name)}
            />
          ))}
        </div>
        <Failure error={sending.error} />
        <div class="actions">
          <Submit disabled={Object.keys(typed.value).length === 0}>Change limits</Submit>
          <span class="dim">Empty: not limited. A changed limit starts with full buckets.</span>
        </div>
      </form>
    </section>
  );
}
