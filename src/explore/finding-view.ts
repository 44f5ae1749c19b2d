/**
 * A finding in the shape that files, reports and `explore()` share: the schedule, what it breaks,
 * and every exchange of the run in order.
 */
import type { FaultName } from './fault-names.ts';
import type { Run } from './run.ts';
import type { Schedule } from './schedule.ts';
import type { Finding } from './search-result.ts';
import type { Seen } from './watched-run.ts';

/** One exchange of the run. */
export interface TimelineEntry {
  readonly number: number;
  /** On the service's clock. */
  readonly at: string;
  readonly method: string;
  readonly target: string;
  readonly endpoint: string | null;
  readonly intent: number | null;
  readonly attempt: number | null;
  readonly fault: FaultName | null;
  readonly body: string;
  /** What the service answered, whether or not the client saw it. */
  readonly status: number;
  readonly seen: boolean;
}

export interface FindingView {
  readonly schedule: Schedule;
  /** False if the exploration ended first: fewer or weaker faults may fail too. */
  readonly shrunk: boolean;
  /** The client rule that was broken, or `sent_twice`, `not_accepted`, `timeout`, `failed`. */
  readonly cause: string;
  readonly what: string;
  /** All failures of the run, with the numbers of the exchanges that prove them. */
  readonly failures: readonly {
    readonly cause: string;
    readonly what: string;
    readonly exchanges: readonly number[];
  }[];
  readonly timeline: readonly TimelineEntry[];
  /**
   * Other schedules that fail for the same cause and shrink to this one, or to an equivalent
   * schedule.
   */
  readonly also: readonly Schedule[];
  /** The end of the client's output. */
  readonly output: string;
}

export function findingView({ schedule, failures, run, isShrunk, also }: Finding): FindingView {
  const [first] = failures;
  return {
    schedule,
    shrunk: isShrunk,
    cause: first?.cause ?? '',
    what: first?.what ?? '',
    failures: failures.map(({ cause, what, exchanges }) => ({
      cause,
      what,
      exchanges: exchanges.map(({ number }) => number),
    })),
    timeline: timelineOf(run),
    also,
    output: run.ending.tail,
  };
}

export function timelineOf({ seen }: Pick<Run, 'seen'>): TimelineEntry[] {
  return seen.map(({ exchange, point, fault }: Seen) => ({
    number: exchange.number,
    at: new Date(exchange.atMs).toISOString(),
    method: exchange.method,
    target: exchange.target,
    endpoint: exchange.endpoint ?? null,
    intent: point?.intent ?? null,
    attempt: point?.attempt ?? null,
    fault: fault ?? null,
    body: exchange.text,
    status: exchange.status,
    seen: exchange.isSeen,
  }));
}
