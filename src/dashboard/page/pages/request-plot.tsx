/**
 * Plots requests and 429s over simulated time. The plotting package is loaded when the plot is
 * first shown.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { durationText } from '../parts/time.tsx';
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
      {shown === undefined ? (
        <Loading what="requests" />
      ) : shown.total === 0 ? (
        <Empty title="No request yet.">
          <p>This plot counts the last 1,000 requests and those that follow.</p>
          <p>Above 10,000 instants of simulated time it drops the oldest.</p>
        </Empty>
      ) : (
        <Plot counts={shown} />
      )}
    </section>
  );
}

function Plot({ counts }: { readonly counts: Counts }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<import('./plot.ts').Plot | undefined>(undefined);
  const latest = useRef(counts);
  latest.current = counts;
  useEffect(() => {
    let isOver = false;
    void import('./plot.ts').then(({ createPlot }) => {
      if (isOver || place.current === null) return;
      plot.current = createPlot(place.current);
      plot.current.draw(latest.current);
    });
    return () => {
      isOver = true;
      plot.current?.remove();
    };
  }, []);
  useEffect(() => plot.current?.draw(counts), [counts]);
  const { total, throttled, widthMs } = counts;
  const text = (count: number) => count.toLocaleString('en');
  const summary = `${text(total)} requests, ${text(throttled)} of them answered 429, by ${durationText(widthMs)}`;
  return (
    <>
      <div class="plot" ref={place} role="img" aria-label={summary} />
      <p class="plot-key">
        <span class="key-passed">{text(total - throttled)} not throttled</span>
        <span class="key-refused">{text(throttled)} answered 429</span>
        <span class="dim">a bar is {durationText(widthMs)}</span>
      </p>
    </>
  );
}
