/**
 * The metrics of simulated worlds: their declarations (name, help, type), and their samples, which
 * are read from counts and state at each scrape. Nothing here runs per request.
 * `exposition.ts` writes them as text.
 */
import { endpointNames } from '#contract/limits.ts';
import { isFinal, type Status, statuses } from '#contract/message-status.ts';
import { secondMs } from '#contract/time.ts';
import type { Account, Device } from '../../sim/accounts/account.ts';
import type { Histogram, MessageCounts, RequestCounts } from '../../sim/counts.ts';
import type { Simulation } from '../simulation.ts';
import type { WallClock } from '../wall-clock.ts';

/** Counts of one world that outlive its resets. */
export interface Counts {
  readonly requests: RequestCounts;
  readonly messages: MessageCounts;
}

/** The parts of a simulator that metrics read. */
interface Measured {
  readonly counts: Counts;
  readonly simulation: Simulation;
  readonly wallClock: Pick<WallClock, 'now'>;
}

export interface MeasuredWorld {
  /** The value of the label `world`, if there are several worlds. */
  readonly worldId: string;
  readonly simulator: Measured;
}

type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** The name of the series, of which a histogram has several. */
  readonly metricName?: string;
}

/** A metric with its samples; Prometheus calls it a metric family. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly Sample[];
}

/** The declaration of a metric, with the function that reads its samples from one world. */
interface MetricDeclaration {
  readonly name: string;
  readonly help: string;
  readonly type: Family['type'];
  /** False if a sum over worlds means nothing; then it is left out of totals. */
  readonly isSummed?: false;
  readonly samples: (world: Measured, name: string) => readonly Sample[];
}

const throttledStatus = 429;
const withoutLabels: Labels = {};

const declarations: readonly MetricDeclaration[] = [
  {
    name: 'smstwin_requests_total',
    help: 'Requests of the service, by endpoint and status of the reply.',
    type: 'counter',
    samples: ({ counts }) =>
      [...counts.requests.byStatus()].map(({ endpoint, status, count }) => ({
        labels: { endpoint, status },
        value: count,
      })),
  },
  {
    name: 'smstwin_request_duration_seconds',
    help: 'Time the server took for a request, without the transport.',
    type: 'histogram',
    samples: ({ counts }, name) =>
      [...counts.requests.durationsMs()].flatMap(({ endpoint, durationsMs }) =>
        seriesOf(name, { endpoint }, durationsMs, secondMs),
      ),
  },
  {
    name: 'smstwin_throttled_total',
    help: 'Requests answered 429, by endpoint.',
    type: 'counter',
    samples: ({ counts }) =>
      endpointNames.map((endpoint) => ({
        labels: { endpoint },
        value: counts.requests.count(endpoint, throttledStatus),
      })),
  },
  {
    name: 'smstwin_messages_accepted_total',
    help: 'Messages accepted.',
    type: 'counter',
    samples: ({ counts }) => oneSample(counts.messages.accepted),
  },
  {
    name: 'smstwin_messages',
    help: 'Messages held, by status.',
    type: 'gauge',
    samples: ({ simulation }) => {
      const accounts = [...simulation.world.accounts.values()];
      return statuses.map((status) => ({
        labels: { status },
        value: accounts.reduce((sum, account) => sum + messagesWith(account, status), 0),
      }));
    },
  },
  {
    name: 'smstwin_message_age_seconds',
    help: 'Simulated time from the acceptance of a message to a status.',
    type: 'histogram',
    samples: ({ counts }, name) =>
      Object.entries(counts.messages.ages).flatMap(([status, ages]) =>
        seriesOf(name, { status }, ages, 1),
      ),
  },
  {
    name: 'smstwin_forgotten_messages_total',
    help: 'Messages forgotten to make room for others.',
    type: 'counter',
    samples: ({ counts, simulation }) =>
      oneSample(
        counts.messages.forgottenBefore + simulation.world.messages.retention.forgottenMessages,
      ),
  },
  {
    name: 'smstwin_sims',
    help: 'SIMs and numbers of the shared pool, by state.',
    type: 'gauge',
    samples: ({ simulation }) => {
      const states = { connected: 0, disconnected: 0, deactivated: 0 };
      for (const device of simulation.world.devices.values()) states[stateOf(device)]++;
      return Object.entries(states).map(([state, value]) => ({ labels: { state }, value }));
    },
  },
  {
    name: 'smstwin_timers',
    help: 'Timers of the simulated clock that have not fired.',
    type: 'gauge',
    samples: ({ simulation }) => oneSample(simulation.clock.pending),
  },
  {
    name: 'smstwin_simulated_time_seconds',
    help: 'Simulated time, in seconds since 1970.',
    type: 'gauge',
    isSummed: false,
    samples: ({ wallClock }) => oneSample(wallClock.now() / secondMs),
  },
];

/** Counts the worlds themselves, so no world has a sample of it. */
const worldsMetric = {
  name: 'smstwin_worlds',
  help: 'Worlds of this process.',
  type: 'gauge',
} as const;

export const metricNames: readonly string[] = [...declarations, worldsMetric].map(
  ({ name }) => name,
);

/** The largest number of worlds that have samples of their own; more worlds get only totals. */
export const mostLabelledWorlds = 100;

/**
 * The metrics of these worlds, each sample labelled with its world if there are several
 * (`isLabelled`). Yields after each world.
 */
export function* familiesOf(
  worlds: readonly MeasuredWorld[],
  { isLabelled = worlds.length > 1 } = {},
): Generator<undefined, Family[]> {
  const hasTotalsOnly = worlds.length > mostLabelledWorlds;
  const families = declarations
    .filter((family) => !hasTotalsOnly || family.isSummed !== false)
    .map((family) => ({ ...family, gathered: new Map<string, GatheredSample>() }));
  for (const { worldId, simulator } of worlds) {
    const worldLabels = isLabelled && !hasTotalsOnly ? { world: worldId } : withoutLabels;
    for (const { name, samples, gathered } of families) {
      for (const sample of samples(simulator, name)) {
        // Equal keys are added up; the size is a new key, which keeps the sample apart.
        const key = hasTotalsOnly ? keyOf(sample) : `${gathered.size}`;
        const total = gathered.get(key);
        if (total !== undefined) total.value += sample.value;
        else gathered.set(key, { ...sample, labels: { ...worldLabels, ...sample.labels } });
      }
    }
    yield;
  }
  return [
    ...families.map(({ name, help, type, gathered }) => ({
      name,
      help,
      type,
      values: [...gathered.values()],
    })),
    { ...worldsMetric, values: oneSample(worlds.length) },
  ];
}

type GatheredSample = Omit<Sample, 'value'> & { value: number };

/** Samples of one family have the same labels in the same order, so the key needs only values. */
function keyOf({ metricName = '', labels }: Sample): string {
  return `${metricName} ${Object.values(labels).join(' ')}`;
}

function oneSample(value: number): readonly Sample[] {
  return [{ labels: withoutLabels, value }];
}

/** The series of a histogram; as Prometheus requires, each bucket includes the previous ones. */
function seriesOf(name: string, labels: Labels, histogram: Histogram, divisor: number): Sample[] {
  const { bounds, counts, sum } = histogram;
  let count = 0;
  const series: Sample[] = counts.map((inBucket, bucket) => {
    count += inBucket;
    const bound = bounds[bucket];
    const le = bound === undefined ? '+Inf' : String(bound / divisor);
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  series.push({ metricName: `${name}_sum`, labels, value: sum / divisor });
  series.push({ metricName: `${name}_count`, labels, value: count });
  return series;
}

/** How many messages with this status the account has, without forgotten ones. */
function messagesWith({ counts, forgotten }: Account, status: Status): number {
  return counts[status] - (isFinal(status) ? forgotten[status] : 0);
}

function stateOf({ active, connected }: Device): 'connected' | 'disconnected' | 'deactivated' {
  if (!active) return 'deactivated';
  return connected ? 'connected' : 'disconnected';
}
