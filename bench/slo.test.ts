/** The thresholds of `--slo`: how they are read, and when they are met. */
import { expect, test } from 'vitest';
import { type Figures, sloValue } from './slo.ts';

const figures: Figures = {
  percentile: (percent) => percent,
  maxMs: 120,
  meanMs: 3,
  perSecond: 1_000,
  errors: 0,
  cpuMicros: 20,
  cpuRatio: 1.4,
};

test.each([
  ['p99<99ms', false],
  ['p99<=99ms', true],
  ['p99.9<0.1s', true],
  ['p50 < 50001us', true],
  ['max<100ms', false],
  ['mean<1s', true],
  ['rps>=1000', true],
  ['errors<1', true],
  ['cpu<1.3x', false],
  ['cpu<25us', true],
])('%s is met: %s', (text, met) => {
  expect(sloValue(text).isMet(figures)).toBe(met);
});

test.each(['p99', 'p99<50', 'p99=50ms', 'cpu<3', 'cpu<3ms', 'rps>10ms', 'p101<1ms', ''])(
  'the threshold "%s" is refused',
  (text) => {
    expect(() => sloValue(text)).toThrow('expected a threshold such as');
  },
);

test('a threshold on an unknown figure counts as crossed', () => {
  expect(sloValue('cpu<9us').isMet({ ...figures, cpuMicros: undefined })).toBe(false);
});
