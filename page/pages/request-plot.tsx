/**
 * A plot of the rule of a limit: for each account, how many of its requests passed in the last 60
 * seconds, against the limit, and when requests were answered 429.
 */
import { useSignal } from '@preact/signals';
import { endpointNames } from '#contract/limits.ts';
import { minuteMs, secondMs } from '#contract/time.ts';
import { searchWord } from '#src/operations/requests/search-words.ts';
import { call } from '../control.ts';
import { choicesOf, FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { clockText, type Line, Plot } from '../parts/plot.tsx';
import { useResource } from '../resource.ts';
import { addressOf, filterValue } from '../route.ts';
import type { Account, Endpoint, Reply } from '../wire.ts';
import { counted, isoTime } from '../words.ts';
import { accountChoices } from '../world.ts';

type Counts = Reply<'requests.counts'>;

/** Accounts that are plotted together; more colours could not be told apart. */
const mostLines = 4;
const tones = ['--sent', '--delivered', '--scheduled', '--sending'];

interface RequestPlotProps {
  readonly accounts: readonly Account[];
  readonly limits: Reply<'limits.get'> | undefined;
}

export function RequestPlot({ accounts, limits }: RequestPlotProps) {
  const [account, endpoint] = [filterValue('account_id'), filterValue('endpoint') || 'send'];
  const shown = accounts
    .filter(({ account_id: id }) => account === '' || id === account)
    .slice(0, mostLines);
  const read = { rereadAfter: ['traffic', 'clock', 'operation'], keepsLastValue: true } as const;
  const counts = useResource(
    () =>
      Promise.all(
        shown.map(({ account_id }) => call('requests.counts', { account_id, endpoint, bar_s: 1 })),
      ),
    { ...read, key: [endpoint, ...shown.map(({ account_id: id }) => id)].join() },
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
            choices={choicesOf(endpointNames.filter((name) => name !== 'send'))}
          />
        </div>
      }
    >
      <Loaded resource={counts} what="requests" isQuiet>
        {(loaded) => (
          <MinutePlot
            key={endpoint}
            charts={loaded.map((chart, index) => ({ name: shown[index]?.name ?? '', chart }))}
            limit={limits?.[endpoint as Endpoint] ?? null}
            endpoint={endpoint}
          />
        )}
      </Loaded>
    </Card>
  );
}

interface MinutePlotProps {
  readonly charts: readonly { readonly name: string; readonly chart: Counts }[];
  readonly limit: number | null;
  readonly endpoint: string;
}

function MinutePlot({ charts, limit, endpoint }: MinutePlotProps) {
  const zoom = useSignal<readonly [number, number] | undefined>(undefined);
  const used = charts.filter(({ chart }) => chart.bars.some(({ count }) => count > 0));
  if (used.length === 0) return <Empty title="No request yet." />;
  const starts = used.map(({ chart }) => Date.parse(chart.from) / secondMs);
  const first = Math.min(...starts);
  const last = Math.max(
    ...used.map(({ chart }, index) => (starts[index] ?? 0) + chart.bars.length),
  );
  const times = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const refused = times.map(() => 0);
  const lines = used.map(({ name, chart }, index): Line => {
    const offset = (starts[index] ?? 0) - first;
    for (const [at, { throttled }] of chart.bars.entries()) {
      refused[offset + at] = (refused[offset + at] ?? 0) + throttled;
    }
    const tone = tones[index] ?? '--text';
    return { label: name, tone, values: lastMinutes(chart, offset, times) };
  });
  if (limit !== null) {
    lines.push({ label: 'limit', tone: '--text', look: 'dashes', values: times.map(() => limit) });
  }
  const marked = refused.map((count) => count || null);
  lines.push({ label: 'answered 429', tone: '--failed', look: 'marks', values: marked });
  const total = used.reduce((sum, { chart }) => sum + countIn(chart, 'count'), 0);
  const throttled = used.reduce((sum, { chart }) => sum + countIn(chart, 'throttled'), 0);
  const [since, until] = (zoom.value ?? [first, last]).map((second) => isoTime(second * secondMs));
  const account = used.length === 1 ? [searchWord('account', used[0]?.name ?? '')] : [];
  const words = [...account, `endpoint:${endpoint}`, `since:${since}`, `until:${until}`];
  return (
    <>
      <Plot
        label={`${counted(total, 'request')}, ${throttled.toLocaleString('en')} of them answered 429, by second`}
        unit="in 60 s"
        times={times}
        lines={lines}
        onZoom={(from, to) => (zoom.value = [from, to])}
      />
      <p class="actions dim">
        Drag or press + and − to zoom, a double click or 0 shows all; ← and → read values.
        <a href={addressOf('requests', '', { search: words.join(' ') })}>
          The requests from {clockText(Date.parse(since ?? '') / secondMs)} on
        </a>
      </p>
    </>
  );
}

function countIn({ bars }: Counts, name: 'count' | 'throttled'): number {
  return bars.reduce((sum, bar) => sum + bar[name], 0);
}

/** How many requests passed in the 60 s up to each time. The bars begin at index `offset`. */
function lastMinutes({ bars }: Counts, offset: number, times: readonly number[]): number[] {
  const passed = (index: number) => {
    const { count = 0, throttled = 0 } = bars[index - offset] ?? {};
    return count - throttled;
  };
  const window = minuteMs / secondMs;
  let sum = 0;
  return times.map((_, index) => {
    sum += passed(index) - passed(index - window);
    return sum;
  });
}
