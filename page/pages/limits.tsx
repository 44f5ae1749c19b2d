/**
 * The page Limits. A plot of the rule of a limit: for each account, how many of its requests passed,
 * and so spent a token, in the last 60 seconds, against the limit, and when requests were answered
 * 429. A table of how many requests each account has left at each endpoint. A form that changes the
 * limits.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { endpointNames } from '#contract/limits.ts';
import { isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { type Drawn, drawPlot } from '#judging/report/plot/draw.ts';
import type { PlotData, PlotLine } from '#judging/report/plot.ts';
import { searchTerm } from '#src/operations/requests/search-words.ts';
import { nowMs } from '../clock.ts';
import { type Account, type Bucket, call, type Reply } from '../control.ts';
import { limitList } from '../lists.ts';
import { Action } from '../parts/action.tsx';
import { FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { List } from '../parts/list.tsx';
import { type Column, TableCard } from '../parts/table.tsx';
import { Level, Quota, ThrottledUntil } from '../parts/values.tsx';
import { useReply, useResource } from '../resource.ts';
import { addressOf, filterValue } from '../route.ts';
import { counted } from '../value-texts.ts';
import { accountChoices, useBuckets } from '../world.ts';

export function LimitsPage() {
  const accounts = useReply('accounts.list', [], ['messages', 'operation']).value?.accounts;
  const buckets = useBuckets();
  const shown = { accounts: accounts ?? [], buckets: buckets.value?.buckets ?? [] };
  const { columns, rows } = gauges(shown);
  return (
    <div class="stack">
      <RequestPlot {...shown} />
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

type Shown = Readonly<{ accounts: readonly Account[]; buckets: readonly Bucket[] }>;

/** A table with a gauge for each account and limited endpoint; who is throttled comes first. */
function gauges({ accounts, buckets }: Shown) {
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

/** Accounts that are plotted together; more colours could not be told apart. */
const mostLines = 4;
const tones = ['--sent', '--delivered', '--scheduled', '--sending'];

function RequestPlot({ accounts, buckets }: Shown) {
  const account = filterValue('account_id');
  const endpoint = filterValue('endpoint') || 'send';
  const shown = accounts
    .filter(({ account_id: id }) => account === '' || id === account)
    .slice(0, mostLines);
  const ids = shown.map(({ account_id: id }) => id);
  const counts = useResource(
    () =>
      Promise.all(
        ids.map((account_id) => call('requests.counts', { account_id, endpoint, bar_s: 1 })),
      ),
    ['traffic', 'clock', 'operation'],
    { keepsLastValue: true, key: [endpoint, ...ids].join() },
  );
  return (
    <Card
      title="Requests that passed in the last 60 s"
      head={
        <div class="filters">
          <FilterChoices
            name="account_id"
            label="Account"
            any={accounts.length > mostLines ? `the first ${mostLines} accounts` : 'any account'}
            choices={accountChoices(accounts)}
          />
          <FilterChoices
            name="endpoint"
            label="Endpoint"
            any="send"
            choices={endpointNames.filter((name) => name !== 'send')}
          />
        </div>
      }
    >
      <Loaded resource={counts} what="requests" isQuiet>
        {(loaded) => (
          <MinutePlot
            key={endpoint}
            charts={loaded.map(({ from, bars }, index) => ({
              name: shown[index]?.name ?? '',
              start: Date.parse(from) / secondMs,
              bars,
            }))}
            limit={buckets.find((bucket) => bucket.endpoint === endpoint)?.limit ?? null}
            endpoint={endpoint}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** The requests of an account, one bar a second; `start`: epoch seconds of the first bar. */
type Chart = Pick<Reply<'requests.counts'>, 'bars'> & Readonly<{ name: string; start: number }>;

type MinutePlotProps = Readonly<{ charts: Chart[]; limit: number | null; endpoint: string }>;

function MinutePlot({ charts, limit, endpoint }: MinutePlotProps) {
  const zoom = useSignal<readonly [number, number] | undefined>(undefined);
  const used = charts.filter(({ bars }) => bars.some(({ count }) => count > 0));
  if (used.length === 0) return <Empty title="No request yet." />;
  const first = Math.min(...used.map(({ start }) => start));
  const lastBar = Math.max(...used.map(({ start, bars }) => start + bars.length));
  // The plot ends now, or when the last request no longer counts.
  const now = Math.floor((nowMs.peek() ?? 0) / secondMs);
  const last = Math.max(lastBar, Math.min(now, lastBar + minuteMs / secondMs));
  const x = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const all = used.flatMap(({ bars }) => bars);
  const lines = linesOf(used, x, limit);
  const throttled = sumOf('throttled', all).toLocaleString('en');
  const [since = '', until] = (zoom.value ?? [first, last]).map((at) =>
    isoTime(Math.round(at * secondMs)),
  );
  const account = used.length === 1 ? [searchTerm('account', used[0]?.name ?? '')] : [];
  const words = [...account, `endpoint:${endpoint}`, `since:${since}`, `until:${until}`];
  const label = `${counted(sumOf('count', all), 'request')}, ${throttled} of them answered 429, by second`;
  return (
    <>
      <Plot
        data={{ label, unit: 'in 60 s', xUnit: 'UTC, simulated', isTime: true, x, lines }}
        onZoom={(from, to) => (zoom.value = [from, to])}
      />
      <p class="actions dim">
        Drag or press + and − to zoom, a double click or 0 shows all; ← and → read values.
        <a href={addressOf('requests', '', { search: words.join(' ') })}>
          The requests from {since.slice(11, 19)} on
        </a>
      </p>
    </>
  );
}

/** A line for each account, the limit, and marks where requests were answered 429. */
function linesOf(charts: readonly Chart[], x: readonly number[], limit: number | null): PlotLine[] {
  const values = x.map(() => limit);
  const limitLine: PlotLine = { label: 'limit', tone: '--text', look: 'dashes', values };
  const throttledAt = (second: number) =>
    charts.reduce((sum, chart) => sum + barAt(chart, second).throttled, 0);
  return [
    ...charts.map((chart, index): PlotLine => {
      const tone = tones[index] ?? '--text';
      return { label: chart.name, tone, look: 'steps', values: lastMinutes(chart, x) };
    }),
    ...(limit === null ? [] : [limitLine]),
    {
      label: 'answered 429',
      tone: '--failed',
      look: 'marks',
      values: x.map((second) => throttledAt(second) || null),
    },
  ];
}

function sumOf(name: 'count' | 'throttled', bars: Chart['bars']): number {
  return bars.reduce((sum, bar) => sum + bar[name], 0);
}

/** `onZoom` gets the shown times, in epoch seconds. */
type PlotProps = Readonly<{ data: PlotData; onZoom: (from: number, to: number) => void }>;

function Plot({ data, onZoom }: PlotProps) {
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | undefined>(undefined);
  const names = data.lines.map(({ label, tone }) => `${label} ${tone}`).join();
  useEffect(() => {
    if (element.current !== null) drawn.current = drawPlot(element.current, data, onZoom);
    return () => drawn.current?.remove();
  }, [names]);
  useEffect(() => drawn.current?.update(data), [data]);
  return <div class="plot" ref={element} />;
}

function barAt({ bars, start }: Chart, second: number): Chart['bars'][number] {
  return bars[second - start] ?? { count: 0, throttled: 0, spent: 0 };
}

/** How many requests spent a token in the 60 s up to each second. */
function lastMinutes(chart: Chart, seconds: readonly number[]): number[] {
  const passed = (second: number) => barAt(chart, second).spent;
  let sum = 0;
  return seconds.map((second) => {
    sum += passed(second) - passed(second - minuteMs / secondMs);
    return sum;
  });
}
