/**
 * The text report of an endurance run: a line per interval, then the verdict.
 */
import type { EnduranceResult, Interval } from '../endurance/endurance-result.ts';

export const intervalHead =
  '   second      req/s  CPU us/req  RSS MB  heap MB  ' +
  'loop p50  p99   max ms  probe p50  p99   max ms\n';

export function intervalText(interval: Interval): string {
  const { event_loop_delay_ms: delay, probe_ms: probe } = interval;
  const cells: readonly (readonly [number | undefined, number, number])[] = [
    [interval.at_s, 9, 0],
    [interval.requests_per_second, 11, 0],
    [interval.cpu_us_per_request, 12, 1],
    [interval.rss_bytes / 1e6, 8, 0],
    [interval.heap_bytes / 1e6, 9, 0],
    [delay.p50, 10, 1],
    [delay.p99, 6, 1],
    [delay.max, 8, 1],
    [probe?.p50, 11, 1],
    [probe?.p99, 6, 1],
    [probe?.max, 8, 1],
  ];
  const texts = cells.map(([value, width, digits]) =>
    (value === undefined ? '-' : value.toFixed(digits)).padStart(width),
  );
  return `${texts.join('')}\n`;
}

export function enduranceText(result: EnduranceResult): string {
  const percent = (share: number) => `${(share * 100).toFixed(1)}%`;
  const { p50, p99, max } = result.probe_ms;
  return [
    ...result.invalid.map((why) => `  INVALID: ${why}\n`),
    `  after ${result.warm_up_s.toFixed(0)} s of warm-up: memory growth ` +
      `${percent(result.memory_growth)} (it varied by ${percent(result.memory_spread)}), ` +
      `throughput loss ${percent(result.throughput_loss)}\n`,
    `  probe: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms; ` +
      `${result.errors} errors\n`,
    ...result.slos.map(({ slo, met }) => `  ${met ? 'met    ' : 'CROSSED'} ${slo}\n`),
  ].join('');
}
