/** The trends, thresholds and doubts of an endurance run, from intervals that a test writes. */
import { expect, test } from 'vitest';
import { sloValue } from '../slo.ts';
import { enduranceResult, type Interval, type Observed } from './endurance-result.ts';

function interval(second: number, rate: number, rssBytes: number): Interval {
  return {
    at_s: second,
    requests_per_second: rate,
    cpu_us_per_request: 17,
    rss_bytes: rssBytes,
    heap_bytes: 1e8,
    event_loop_delay_ms: { p50: 0, p99: 1, max: 2 },
    probe_ms: null,
  };
}

/** Ten minutes: two of warm-up, in which memory doubles, then the lines that are given. */
function observed(rate: (share: number) => number, rss: (share: number) => number): Observed {
  const intervals = Array.from({ length: 60 }, (_, n) => {
    const second = (n + 1) * 10;
    const share = (second - 120) / 480;
    return second <= 120
      ? interval(second, 90_000, 1e8 + n * 1e7)
      : interval(second, rate(share), rss(share));
  });
  return {
    case: 'endurance',
    what: 'sends',
    durationMs: 600_000,
    intervals,
    probe: { p50: 1, p99: 20, max: 140 },
    latency: { percentile: () => 2_000, max: 9_000, mean: 2_000 },
    errors: 0,
    invalid: [],
  };
}

const crossed = (run: Observed, ...slos: string[]) =>
  enduranceResult(run, slos.map(sloValue))
    .slos.filter(({ met }) => !met)
    .map(({ slo }) => slo);

test('a flat run meets every threshold, with any warm-up', () => {
  const result = enduranceResult(
    observed(
      () => 40_000,
      () => 4e8,
    ),
    [],
  );
  expect(result).toMatchObject({ memory_growth: 0, memory_spread: 0 });
  expect(result.throughput_loss).toBeCloseTo(0);
  expect(result.slos.filter(({ met }) => !met)).toEqual([]);
  expect(result.slos).toHaveLength(5);
});

test('memory that grows and throughput that falls cross their thresholds', () => {
  expect(
    crossed(
      observed(
        () => 40_000,
        (share) => 4e8 * (1 + share * 0.2),
      ),
    ),
  ).toEqual(['growth<15%']);
  expect(
    crossed(
      observed(
        (share) => 40_000 * (1 - share * 0.12),
        () => 4e8,
      ),
    ),
  ).toEqual(['loss<10%']);
});

test('the sawtooth of the garbage collector does not count as growth', () => {
  const saw = observed(
    () => 40_000,
    (share) => 4e8 * (1 + 0.1 * ((share * 13) % 1)),
  );
  const { memory_growth: growth, memory_spread: spread } = enduranceResult(saw, []);
  expect(Math.abs(growth)).toBeLessThan(0.02);
  expect(spread).toBeGreaterThan(0.08);
});

test('the probe and errors count, and --slo replaces the default for its figure', () => {
  const run = observed(
    () => 40_000,
    () => 4e8,
  );
  expect(crossed({ ...run, probe: { p50: 1, p99: 25, max: 150 }, errors: 1 })).toEqual([
    'probe_p99<25ms',
    'probe_max<150ms',
    'errors<1',
  ]);
  expect(crossed(run, 'probe_p99<20ms', 'p99<1ms')).toEqual(['probe_p99<20ms', 'p99<1ms']);
  expect(crossed(run, 'growth<1%')).toEqual([]);
});

test('a run without intervals after its warm-up is not valid', () => {
  const { intervals, ...rest } = observed(
    () => 40_000,
    () => 4e8,
  );
  expect(enduranceResult({ ...rest, intervals: intervals.slice(0, 12) }, []).invalid).toEqual([
    'too few intervals after the warm-up; run it longer',
  ]);
});
