/**
 * Limits: what each account may still ask of each endpoint now, and how much was asked and refused
 * over time.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { readFields, wholeNumber } from '../numbers.ts';
import { Action } from '../parts/action.tsx';
import { TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { TableScroll } from '../parts/table-scroll.tsx';
import { useResource } from '../resource.ts';
import { type Bucket, type Endpoint, endpoints } from '../wire.ts';
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
        <Failure error={buckets.error} />
        {buckets.value === undefined || world === undefined ? (
          <Loading what="limits" />
        ) : (
          <Gauges buckets={buckets.value.buckets} world={world} />
        )}
      </section>
      <LimitForm onChanged={buckets.refresh} />
    </div>
  );
}

function Gauges(props: { readonly buckets: readonly Bucket[]; readonly world: World }) {
  const { buckets, world } = props;
  const limited = endpoints.filter((name) => buckets.some(({ endpoint }) => endpoint === name));
  if (limited.length === 0) return <Empty title="No endpoint is limited." />;
  return (
    <TableScroll label="Requests left">
      <table class="gauges">
        <thead>
          <tr>
            <th scope="col">Account</th>
            {limited.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {world.accounts.map(({ account_id: id, name }) => (
            <tr key={id}>
              <th scope="row">{name}</th>
              {limited.map((endpoint) => (
                <td key={endpoint}>
                  <Gauge
                    name={`${endpoint} of ${name}`}
                    bucket={buckets.find(
                      (one) => one.account_id === id && one.endpoint === endpoint,
                    )}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
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
              value={typed.value[name] ?? (now[name] === null ? '' : String(now[name]))}
              onType={(text) => {
                typed.value = { ...typed.value, [name]: text };
              }}
              problem={sending.problem(name)}
            />
          ))}
        </div>
        <Failure error={sending.error} />
        <div class="actions">
          <button
            type="submit"
            class="button main"
            disabled={Object.keys(typed.value).length === 0}
          >
            Change limits
          </button>
          <span class="dim">Empty: not limited. A changed limit starts with full buckets.</span>
        </div>
      </form>
    </section>
  );
}
