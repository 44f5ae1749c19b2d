/**
 * Thresholds of a run, as given to `--slo`: `p99<50ms`, `cpu<=1.3x`, `rps>20000`, `errors<1`.
 */
import { ValueError } from '../src/commands/flags.ts';

/** The figures of one case that a threshold may name. */
export interface Figures {
  /** Milliseconds by percentile. */
  readonly percentile: (percent: number) => number;
  readonly maxMs: number;
  readonly meanMs: number;
  readonly perSecond: number;
  readonly errors: number;
  readonly cpuMicros: number | undefined;
  /** CPU per request over the bare HyperExpress handler's. */
  readonly cpuRatio: number | undefined;
  /** Shares and milliseconds that only an endurance run measures. */
  readonly endurance?: Readonly<Record<'growth' | 'loss' | 'probeP99' | 'probeMax', number>>;
}

export interface Slo {
  readonly text: string;
  /** The name of the figure. */
  readonly metric: string;
  readonly isMet: (figures: Figures) => boolean;
}

/** True if only an endurance run measures this figure. */
export function isEnduranceOnly(metric: string): boolean {
  return /^(growth|loss|probe_)/.test(metric);
}

const shape =
  /^(p\d{1,2}(?:\.\d+)?|max|mean|rps|errors|cpu|growth|loss|probe_p99|probe_max)(<=|>=|<|>)(\d+(?:\.\d+)?)(us|ms|s|x|%)?$/;

/** What one of a unit is worth in the unit of the figure. */
type Units = Readonly<Record<string, number>>;

const timeUnits: Units = { us: 0.001, ms: 1, s: 1_000 };
const cpuUnits: Units = { us: 1, x: 1 };
const shareUnits: Units = { '%': 0.01 };
const countUnits: Units = { '': 1 };

function unitsOf(metric: string): Units {
  if (metric.startsWith('p') || metric === 'max' || metric === 'mean') return timeUnits;
  if (metric === 'growth' || metric === 'loss') return shareUnits;
  return metric === 'cpu' ? cpuUnits : countUnits;
}

export function sloValue(text: string): Slo {
  const match = shape.exec(text.replaceAll(' ', ''));
  const [, metric = '', relation = '', digits = '', unit = ''] = match ?? [];
  const factor = unitsOf(metric)[unit];
  if (match === null || factor === undefined) {
    throw new ValueError(
      "expected a threshold such as 'p99<50ms', 'max<1s', 'rps>10000', 'errors<1', 'cpu<1.5x' " +
        "or 'cpu<30us'; of endurance 'growth<15%', 'loss<10%', 'probe_p99<25ms' or 'probe_max<1s'",
    );
  }
  const bound = Number(digits) * factor;
  const isMet = (figures: Figures): boolean => {
    const value = figureOf(metric, unit, figures);
    return value !== undefined && holds(value, relation, bound);
  };
  return { text, metric, isMet };
}

function figureOf(metric: string, unit: string, figures: Figures): number | undefined {
  switch (metric) {
    case 'max':
      return figures.maxMs;
    case 'mean':
      return figures.meanMs;
    case 'rps':
      return figures.perSecond;
    case 'errors':
      return figures.errors;
    case 'cpu':
      return unit === 'x' ? figures.cpuRatio : figures.cpuMicros;
    case 'growth':
    case 'loss':
      return figures.endurance?.[metric];
    case 'probe_p99':
      return figures.endurance?.probeP99;
    case 'probe_max':
      return figures.endurance?.probeMax;
    default:
      return figures.percentile(Number(metric.slice(1)));
  }
}

function holds(value: number, relation: string, bound: number): boolean {
  switch (relation) {
    case '<':
      return value < bound;
    case '<=':
      return value <= bound;
    case '>':
      return value > bound;
    default:
      return value >= bound;
  }
}
