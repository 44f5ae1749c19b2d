/**
 * A finding in the shape that files, reports and `explore()` share: the schedule, what it breaks,
 * and every exchange of the run in order.
 */
import type { FindingView, TimelineEntry } from '#judging/report/finding-view.ts';
import type { Run } from './run.ts';
import type { Finding } from './search-result.ts';
import type { Seen } from './watched-run.ts';

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
