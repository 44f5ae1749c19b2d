/**
 * Plots requests over simulated time: those answered 429 on top of the others, and the limit of the
 * chosen endpoint. Choosing bars, by dragging or with the arrow keys, finds their requests.
 */

import { useSignal } from '@preact/signals';
import { minuteMs } from '../../../ledger/time-units.ts';
import { endpointNames } from '../../../sim/limits.ts';
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
        {(all) =>
          all.bars.every(({ count }) => count === 0) ? (
            <Empty title="No request yet." />
          ) : (
            <Plot
              counts={all}
              limit={limit * (account === '' ? accounts.length : 1)}
              search={[account && `account:${account}`, endpoint && `endpoint:${endpoint}`]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

const shortCount = new Intl.NumberFormat('en', { notation: 'compact' });

interface PlotProps {
  readonly counts: Reply<'requests.counts'>;
  /** Requests per minute; 0: none is shown. */
  readonly limit: number;
  /** Words that find the plotted requests. */
  readonly search: readonly string[];
}

function Plot({ counts: { width_ms: widthMs, from, bars }, limit, search }: PlotProps) {
  const brush = useSignal<readonly [from: number, to: number] | undefined>(undefined);
  const isDragging = useSignal(false);
  const text = (count: number) => count.toLocaleString('en');
  const sum = (of: 'count' | 'throttled') => bars.reduce((all, bar) => all + bar[of], 0);
  const [total, throttled] = [sum('count'), sum('throttled')];
  const perBar = (limit * widthMs) / minuteMs;
  const most = Math.max(4, perBar, ...bars.map(({ count }) => count));
  const top = (count: number) => 100 * (1 - count / most);
  const bar = (kind: string, at: number, from: number, to: number) =>
    from < to && <rect class={kind} x={at + 0.1} width={0.8} y={from} height={to - from} />;
  const timeOf = (at: number) => isoTime(Date.parse(from) + at * widthMs);
  const summary = `${text(total)} requests, ${text(throttled)} of them answered 429, by ${durationText(widthMs)}`;
  const within = (at: number) => Math.max(0, Math.min(bars.length - 1, at));
  const barAt = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return within(Math.floor((bars.length * (clientX - left)) / width));
  };
  /** A key chooses a bar; with Shift, it moves the end of the chosen ones alone. */
  const chooseByKey = (event: KeyboardEvent) => {
    const [anchor, end] = brush.value ?? [];
    const next = steps[event.key]?.(end, bars.length);
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    brush.value = [event.shiftKey ? (anchor ?? within(next)) : within(next), within(next)];
  };
  const [first = 0, last = -1] = brush.value?.toSorted((one, other) => one - other) ?? [];
  const brushed = bars.slice(first, last + 1).reduce((all, { count }) => all + count, 0);
  const chosen =
    last < first
      ? 'no bar'
      : `${text(brushed)} of them, from ${clockText(timeOf(first))} to ${clockText(timeOf(last + 1))}`;
  return (
    <>
      <div class="plot">
        <span class="plot-most dim">{shortCount.format(most)}</span>
        <div
          role="slider"
          tabIndex={0}
          aria-label={summary}
          aria-valuemin={0}
          aria-valuemax={bars.length - 1}
          aria-valuenow={brush.value?.[1] ?? 0}
          aria-valuetext={chosen}
          onKeyDown={chooseByKey}
          onPointerDown={(event) => {
            isDragging.value = true;
            brush.value = [barAt(event), barAt(event)];
          }}
          onPointerMove={(event) => {
            if (isDragging.value) brush.value = [brush.value?.[0] ?? 0, barAt(event)];
          }}
          onPointerUp={() => {
            isDragging.value = false;
          }}
        >
          <svg viewBox={`0 0 ${bars.length} 100`} preserveAspectRatio="none" aria-hidden="true">
            {last >= first && (
              <rect class="brush" x={first} width={last - first + 1} y={0} height={100} />
            )}
            {bars.map(({ count, throttled: refused }, at) => (
              <g key={timeOf(at)}>
                <title>{`${timeOf(at).replace('T', ' ')}: ${text(count - refused)} not throttled, ${text(refused)} answered 429`}</title>
                <rect x={at} width={1} y={0} height={100} fill="transparent" />
                {bar('passed', at, top(count - refused), 100)}
                {bar('refused', at, top(count), top(count - refused))}
              </g>
            ))}
            {limit > 0 && (
              <line class="limit" x1={0} x2={bars.length} y1={top(perBar)} y2={top(perBar)} />
            )}
          </svg>
        </div>
        <span class="plot-times dim">
          <span>{clockText(timeOf(0))}</span>
          <span>{clockText(timeOf(bars.length))}</span>
        </span>
      </div>
      <p class="plot-key">
        <span class="key-passed">{text(total - throttled)} not throttled</span>
        <span class="key-refused">{text(throttled)} answered 429</span>
        {limit > 0 && <span class="key-limit">the limit: {text(limit)} a minute</span>}
        <span class="dim">
          a bar is {durationText(widthMs)}; choose bars by dragging, or with ← and → (Shift adds
          more), for their requests
        </span>
        {last >= first && (
          <a
            href={addressOf('requests', '', {
              search: [...search, `since:${timeOf(first)}`, `until:${timeOf(last + 1)}`]
                .filter((word) => word !== '')
                .join(' '),
            })}
          >
            Show the {text(brushed)} from {clockText(timeOf(first))} on
          </a>
        )}
      </p>
    </>
  );
}

/** The bar that a key leads to from the end of the chosen ones. */
const steps: Readonly<Record<string, (end: number | undefined, count: number) => number>> = {
  ArrowLeft: (end, count) => (end ?? count) - 1,
  ArrowDown: (end, count) => (end ?? count) - 1,
  ArrowRight: (end = -1) => end + 1,
  ArrowUp: (end = -1) => end + 1,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** UTC, as everywhere on the page. */
function clockText(time: string): string {
  return time.slice(0, 19).replace('T', ' ');
}
