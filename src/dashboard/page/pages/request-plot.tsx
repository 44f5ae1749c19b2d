/**
 * Plots requests over simulated time as bars: those answered 429 on top of the others. A bar says
 * what it counts when the pointer is on it.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { durationText, isoTime } from '../parts/time.tsx';
import { Reading } from '../reading.ts';
import { type Counts, RequestCounts } from './request-counts.ts';

const drawPauseMs = 250;

export function RequestPlot() {
  const counts = useSignal<Counts | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    const tally = new RequestCounts();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        counts.value = tally.counts();
      }, drawPauseMs);
    };
    const reading = new Reading(
      () => call('requests.list'),
      ({ requests }) => {
        tally.start(requests);
        counts.value = tally.counts();
        error.value = undefined;
      },
      (failure) => {
        error.value = failure;
      },
    );
    const end = onEvents('traffic', (events) => {
      if (events === undefined) {
        tally.forgetRecent();
        reading.soon();
      }
      for (const traffic of events ?? []) tally.add(traffic);
      draw();
    });
    reading.now();
    return () => {
      end();
      reading.stop();
      clearTimeout(timer);
    };
  }, [counts, error]);
  const shown = counts.value;
  return (
    <section class="card" aria-labelledby="plot-title">
      <h2 id="plot-title">Requests over simulated time</h2>
      <Failure error={error.value} />
      {shown === undefined && <Loading what="requests" />}
      {shown?.total === 0 && (
        <Empty title="No request yet.">
          <p>This plot counts the last 1,000 requests and those that follow.</p>
          <p>Above 10,000 instants of simulated time it drops the oldest.</p>
        </Empty>
      )}
      {shown !== undefined && shown.total > 0 && <Plot counts={shown} />}
    </section>
  );
}

const shortCount = new Intl.NumberFormat('en', { notation: 'compact' });

function Plot({ counts }: { readonly counts: Counts }) {
  const { total, throttled, widthMs, startS, passed, refused } = counts;
  const text = (count: number) => count.toLocaleString('en');
  const most = Math.max(4, ...passed.map((count, at) => count + (refused[at] ?? 0)));
  const top = (count: number) => 100 * (1 - count / most);
  const summary = `${text(total)} requests, ${text(throttled)} of them answered 429, by ${durationText(widthMs)}`;
  return (
    <>
      <div class="plot" role="img" aria-label={summary}>
        <span class="plot-most dim">{shortCount.format(most)}</span>
        <svg viewBox={`0 0 ${startS.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          {startS.map((start, at) => {
            const below = passed[at] ?? 0;
            const above = refused[at] ?? 0;
            if (below + above === 0) return null;
            const when = isoTime(start * 1_000).replace('T', ' ');
            return (
              <g key={start}>
                <title>{`${when}: ${text(below)} not throttled, ${text(above)} answered 429`}</title>
                <Bar at={at} from={top(below)} to={100} kind="passed" />
                <Bar at={at} from={top(below + above)} to={top(below)} kind="refused" />
              </g>
            );
          })}
        </svg>
        <span class="plot-times dim">
          <span>{clockText(startS[0])}</span>
          <span>{clockText(startS.at(-1))}</span>
        </span>
      </div>
      <p class="plot-key">
        <span class="key-passed">{text(total - throttled)} not throttled</span>
        <span class="key-refused">{text(throttled)} answered 429</span>
        <span class="dim">a bar is {durationText(widthMs)}</span>
      </p>
    </>
  );
}

interface BarProps {
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly kind: string;
}

function Bar({ at, from, to, kind }: BarProps) {
  return <rect class={kind} x={at + 0.1} width={0.8} y={from} height={to - from} />;
}

/** UTC, as everywhere on the page. */
function clockText(seconds = 0): string {
  return isoTime(seconds * 1_000)
    .slice(0, 19)
    .replace('T', ' ');
}
