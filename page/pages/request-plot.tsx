/**
 * A plot of requests over simulated time, as stacked bars, with the limit of the chosen endpoint.
 * The user chooses bars by dragging or with the arrow keys, and follows a link to their requests.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { endpointNames } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { call } from '../control.ts';
import { choicesOf, FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { useResource } from '../resource.ts';
import { addressOf, filterValue } from '../route.ts';
import type { Account, Reply } from '../wire.ts';
import { durationText, isoTime } from '../words.ts';
import { accountChoices } from '../world.ts';

export function RequestPlot({ accounts }: { readonly accounts: readonly Account[] }) {
  const [account, endpoint] = [filterValue('account_id'), filterValue('endpoint')];
  const counts = useResource(() => call('requests.counts', { account_id: account, endpoint }), {
    rereadAfter: ['traffic', 'clock', 'operation'],
    key: `${account} ${endpoint}`,
    keepsLastValue: true,
  });
  const limits = useResource(() => call('limits.get'), {
    rereadAfter: ['operation', 'clock'],
  }).value;
  const limit = limits?.[endpoint as keyof typeof limits] ?? 0;
  return (
    <Card
      title="Requests over simulated time"
      head={
        <div class="filters">
          <FilterChoices
            name="account_id"
            label="Account"
            any="any account"
            choices={accountChoices(accounts)}
          />
          <FilterChoices
            name="endpoint"
            label="Endpoint"
            any="any endpoint"
            choices={choicesOf(endpointNames)}
          />
        </div>
      }
    >
      <Loaded resource={counts} what="requests" isQuiet>
        {(loadedCounts) =>
          loadedCounts.bars.every(({ count }) => count === 0) ? (
            <Empty title="No request yet." />
          ) : (
            <Plot
              counts={loadedCounts}
              limit={limit * (account === '' ? accounts.length : 1)}
              search={[account && `account:${account}`, endpoint && `endpoint:${endpoint}`]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

interface PlotProps {
  readonly counts: Reply<'requests.counts'>;
  /** Requests per minute; 0: no limit is shown. */
  readonly limit: number;
  /** Words of a search that finds the plotted requests; may be empty. */
  readonly search: readonly string[];
}

function Plot({ counts, limit, search }: PlotProps) {
  const { width_ms: barMs, from, bars } = counts;
  const selection = useSignal<Selection | undefined>(undefined);
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const throttled = bars.reduce((sum, bar) => sum + bar.throttled, 0);
  const limitPerBar = (limit * barMs) / minuteMs;
  const highest = Math.max(leastHeight, limitPerBar, ...bars.map(({ count }) => count));
  const limitY = yOf(limitPerBar, highest);
  const timeAt = (index: number) => isoTime(Date.parse(from) + index * barMs);

  const hasSelection = selection.value !== undefined;
  // Without a selection, what follows from the first bar is not shown.
  const { anchor, end } = selection.value ?? { anchor: 0, end: 0 };
  const [first, last] = [Math.min(anchor, end), Math.max(anchor, end)];
  const [since, until] = [timeAt(first), timeAt(last + 1)];
  const selected = bars.slice(first, last + 1).reduce((sum, { count }) => sum + count, 0);
  const selectedText = `${countText(selected)} of them, from ${clockText(since)} to ${clockText(until)}`;
  return (
    <>
      <div class="plot">
        <span class="plot-most dim">{shortCount.format(highest)}</span>
        <SelectableBars
          count={bars.length}
          selection={selection}
          label={`${countText(total)} requests, ${countText(throttled)} of them answered 429, by ${durationText(barMs)}`}
          valueText={hasSelection ? selectedText : 'no bar'}
        >
          {hasSelection && (
            <rect class="brush" x={first} width={last - first + 1} y={0} height={plotHeight} />
          )}
          {bars.map((bar, index) => {
            const time = timeAt(index);
            return <StackedBar key={time} {...bar} time={time} index={index} highest={highest} />;
          })}
          {limit > 0 && <line class="limit" x1={0} x2={bars.length} y1={limitY} y2={limitY} />}
        </SelectableBars>
        <span class="plot-times dim">
          <span>{clockText(timeAt(0))}</span>
          <span>{clockText(timeAt(bars.length))}</span>
        </span>
      </div>
      <PlotKey passed={total - throttled} throttled={throttled} limit={limit} barMs={barMs}>
        {hasSelection && (
          <a href={requestsAddress([...search, `since:${since}`, `until:${until}`])}>
            Show the {countText(selected)} from {clockText(since)} on
          </a>
        )}
      </PlotKey>
    </>
  );
}

interface PlotKeyProps {
  readonly passed: number;
  readonly throttled: number;
  readonly limit: number;
  /** The simulated time of a bar. */
  readonly barMs: number;
  /** The link to the requests of the chosen bars. */
  readonly children: ComponentChildren;
}

/** What the colours of the plot mean, and how to use it. */
function PlotKey({ passed, throttled, limit, barMs, children }: PlotKeyProps) {
  return (
    <p class="plot-key">
      <span class="key-passed">{countText(passed)} not throttled</span>
      <span class="key-refused">{countText(throttled)} answered 429</span>
      {limit > 0 && <span class="key-limit">the limit: {countText(limit)} a minute</span>}
      <span class="dim">
        a bar is {durationText(barMs)}; choose bars by dragging, or with ← and → (Shift adds more),
        for their requests
      </span>
      {children}
    </p>
  );
}

/** Few requests do not fill the whole height. */
const leastHeight = 4;

/** Where a count is in the plot; 0 is the top. */
function yOf(count: number, highest: number): number {
  return plotHeight * (1 - count / highest);
}

interface StackedBarProps {
  readonly time: string;
  readonly index: number;
  readonly count: number;
  readonly throttled: number;
  /** The count that fills the whole height. */
  readonly highest: number;
}

/** The requests of one bar that were answered 429, on top of the others. */
function StackedBar({ time, index, count, throttled, highest }: StackedBarProps) {
  const passed = count - throttled;
  const [top, middle] = [yOf(count, highest), yOf(passed, highest)];
  const part = (kind: string, from: number, to: number) =>
    from < to && <rect class={kind} x={index + 0.1} width={0.8} y={from} height={to - from} />;
  return (
    <g>
      <title>{`${time.replace('T', ' ')}: ${countText(passed)} not throttled, ${countText(throttled)} answered 429`}</title>
      <rect x={index} width={1} y={0} height={plotHeight} fill="transparent" />
      {part('passed', middle, plotHeight)}
      {part('refused', top, middle)}
    </g>
  );
}

function requestsAddress(words: readonly string[]): string {
  const search = words.filter((word) => word !== '').join(' ');
  return addressOf('requests', '', { search });
}

const shortCount = new Intl.NumberFormat('en', { notation: 'compact' });

function countText(count: number): string {
  return count.toLocaleString('en');
}

/** UTC, as everywhere on the page. */
function clockText(time: string): string {
  return time.slice(0, 19).replace('T', ' ');
}

/** The chosen bars, by index: from where the user began to where the pointer or a key is now. */
interface Selection {
  readonly anchor: number;
  readonly end: number;
}

/** In units of the SVG; a bar is one unit wide. */
const plotHeight = 100;

interface SelectableBarsProps {
  /** The number of bars. */
  readonly count: number;
  readonly selection: Signal<Selection | undefined>;
  readonly label: string;
  /** What is selected, for screen readers. */
  readonly valueText: string;
  /** The bars as SVG, each one unit wide. */
  readonly children: ComponentChildren;
}

function SelectableBars({ count, selection, label, valueText, children }: SelectableBarsProps) {
  const isDragging = useSignal(false);
  const within = (index: number) => Math.max(0, Math.min(count - 1, index));
  const barUnder = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return within(Math.floor((count * (clientX - left)) / width));
  };
  /** A key chooses one bar; with Shift, it moves only the end of the selection. */
  const selectByKey = (event: KeyboardEvent) => {
    const next = keySteps[event.key]?.(selection.value?.end, count);
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const end = within(next);
    selection.value = { anchor: event.shiftKey ? (selection.value?.anchor ?? end) : end, end };
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={selection.value?.end ?? 0}
      aria-valuetext={valueText}
      onKeyDown={selectByKey}
      onPointerDown={(event) => {
        isDragging.value = true;
        selection.value = { anchor: barUnder(event), end: barUnder(event) };
      }}
      onPointerMove={(event) => {
        if (!isDragging.value) return;
        selection.value = { anchor: selection.value?.anchor ?? 0, end: barUnder(event) };
      }}
      onPointerUp={() => {
        isDragging.value = false;
      }}
    >
      <svg viewBox={`0 0 ${count} ${plotHeight}`} preserveAspectRatio="none" aria-hidden="true">
        {children}
      </svg>
    </div>
  );
}

/** The bar that a key chooses, by the end of the selection and the number of bars. */
const keySteps: Readonly<Record<string, (end: number | undefined, count: number) => number>> = {
  ArrowLeft: (end, count) => (end ?? count) - 1,
  ArrowDown: (end, count) => (end ?? count) - 1,
  ArrowRight: (end = -1) => end + 1,
  ArrowUp: (end = -1) => end + 1,
  Home: () => 0,
  End: (_, count) => count - 1,
};
