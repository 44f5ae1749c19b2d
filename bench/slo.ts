/**
 * Thresholds of a run, as given to `--slo`: `p99<50ms`, `cpu<=1.3x`, `rps>20000`, `errors<1`.
 */
import { ValueError } from '../src/cli/flags.ts';

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
}

export interface Slo {
  readonly text: string;
  readonly isMet: (figures: Figures) => boolean;
}

const shape =
  /^(p\d{1,2}(?:\.\d+)?|max|mean|rps|errors|cpu)(<=|>=|<|>)(\d+(?:\.\d+)?)(us|ms|s|x)?$/;
const msPerUnit: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000 };

export function sloValue(text: string): Slo {
  const match = shape.exec(text.replaceAll(' ', ''));
  const [, metric = '', relation = '', digits = '', unit] = match ?? [];
  const isTime = metric.startsWith('p') || metric === 'max' || metric === 'mean';
  const isUnitRight = isTime
    ? unit !== undefined && unit in msPerUnit
    : metric === 'cpu'
      ? unit === 'us' || unit === 'x'
      : unit === undefined;
  if (match === null || !isUnitRight) {
    throw new ValueError(
      "expected a threshold such as 'p99<50ms', 'max<1s', 'rps>10000', 'errors<1', 'cpu<1.5x' " +
        "or 'cpu<30us'",
    );
  }
  const bound = Number(digits) * (isTime ? (msPerUnit[unit ?? ''] ?? 1) : 1);
  const isMet = (figures: Figures): boolean => {
    const value = figureOf(metric, unit, figures);
    return value !== undefined && holds(value, relation, bound);
  };
  return { text, isMet };
}

function figureOf(metric: string, unit: string | undefined, figures: Figures): number | undefined {
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
