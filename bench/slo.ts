/**
 * Service level objectives: the thresholds of `--slo`, such as `p99<50ms`, `cpu<=1.3x`, `rps>20000`
 * or `errors<1`. Each names a figure of a case, a relation and a bound.
 */
import { ValueError } from '#io/flags.ts';

export interface Figures {
  /** Milliseconds by percentile. */
  readonly percentile: (percent: number) => number;
  readonly maxMs: number;
  readonly meanMs: number;
  readonly perSecond: number;
  readonly errors: number;
  readonly cpuMicros: number | undefined;
  /** CPU per request as a multiple of the bare HyperExpress handler's. */
  readonly cpuRatio: number | undefined;
}

export interface Slo {
  readonly text: string;
  readonly isMet: (figures: Figures) => boolean;
}

/** A threshold of a report. */
export interface JudgedSlo {
  readonly slo: string;
  readonly met: boolean;
}

interface Metric {
  /** The units in which a bound may be given, each in units of the figure. */
  readonly units: Readonly<Record<string, number>>;
  readonly valueOf: (figures: Figures, unit: string) => number | undefined;
}

const timeUnits = { us: 0.001, ms: 1, s: 1_000 };
const countUnits = { '': 1 };

const metrics: Readonly<Record<string, Metric>> = {
  max: { units: timeUnits, valueOf: ({ maxMs }) => maxMs },
  mean: { units: timeUnits, valueOf: ({ meanMs }) => meanMs },
  rps: { units: countUnits, valueOf: ({ perSecond }) => perSecond },
  errors: { units: countUnits, valueOf: ({ errors }) => errors },
  cpu: {
    units: { us: 1, x: 1 },
    valueOf: ({ cpuRatio, cpuMicros }, unit) => (unit === 'x' ? cpuRatio : cpuMicros),
  },
};

/** Such as `max`, or `p99.9` for a percentile. */
function metricOf(name: string): Metric | undefined {
  const percent = /^p(\d{1,2}(?:\.\d+)?)$/.exec(name)?.[1];
  if (percent === undefined) return Object.hasOwn(metrics, name) ? metrics[name] : undefined;
  return { units: timeUnits, valueOf: ({ percentile }) => percentile(Number(percent)) };
}

const relations: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
};

const thresholdPattern = /^([a-z]+\d*(?:\.\d+)?)(<=|>=|<|>)(\d+(?:\.\d+)?)(us|ms|s|x)?$/;

export function sloValue(text: string): Slo {
  const [, name = '', relation = '', digits, unit = ''] =
    thresholdPattern.exec(text.replaceAll(' ', '')) ?? [];
  const metric = metricOf(name);
  const factor = metric?.units[unit];
  const holds = relations[relation];
  if (metric === undefined || factor === undefined || holds === undefined) {
    throw new ValueError(
      "expected a threshold such as 'p99<50ms', 'max<1s', 'mean<5ms', 'rps>10000', 'errors<1', " +
        "'cpu<1.5x' or 'cpu<30us'; times need us, ms or s",
    );
  }
  const isMet = (figures: Figures): boolean => {
    const value = metric.valueOf(figures, unit);
    return value !== undefined && holds(value, Number(digits) * factor);
  };
  return { text, isMet };
}

export function judgeSlos(slos: readonly Slo[], figures: Figures): JudgedSlo[] {
  return slos.map((slo) => ({ slo: slo.text, met: slo.isMet(figures) }));
}
