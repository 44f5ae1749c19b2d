/**
 * Hundreds of exchanges in a few lines, for reports: each line is a run of consecutive exchanges
 * with the same status. Finds also the exchange to compare a broken one with.
 */
import { isoTime } from '#contract/time.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { ReportedExchange } from '#judging/evidence/reply.ts';

const mostLines = 20;

/** A head line, then lines such as `+0.000 s to +0.912 s: 97 answered 200`. */
export function runsOf(exchanges: readonly Exchange[]): string[] {
  const [first, ...others] = exchanges;
  if (first === undefined) return [];
  const since = (atMs: number) => `+${((atMs - first.sentAt) / 1_000).toFixed(3)} s`;
  const runs: Exchange[][] = [[first]];
  for (const exchange of others) {
    const run = runs.at(-1);
    if (run?.[0]?.reply.status === exchange.reply.status) run.push(exchange);
    else runs.push([exchange]);
  }
  const lines = runs.map((run) => {
    const end = Math.max(...run.map(({ answeredAt }) => answeredAt));
    const [{ sentAt, reply } = first] = run;
    const wait = reply.headers['retry-after'];
    const note = wait === undefined ? '' : `, the first with Retry-After: ${wait}`;
    return `${since(sentAt)} to ${since(end)}: ${run.length} answered ${reply.status}${note}`;
  });
  const omitted = lines.length - mostLines;
  const more = omitted > 0 ? [`… and ${omitted} more changes of the status`] : [];
  return [
    `${isoTime(first.sentAt)}: the first of ${exchanges.length} requests; ${countsOf(exchanges)}`,
    ...lines.slice(0, mostLines),
    ...more,
  ];
}

function countsOf(exchanges: readonly Exchange[]): string {
  const counts = new Map<number, number>();
  for (const { reply } of exchanges) counts.set(reply.status, (counts.get(reply.status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} answered ${status}`).join(', ');
}

/** The last exchange before this one that was answered with another status. */
export function otherBefore(
  exchanges: readonly Exchange[],
  broken: ReportedExchange,
): ReportedExchange | undefined {
  const index = exchanges.findIndex(({ reply }) => reply.exchange === broken);
  const earlier = exchanges.slice(0, Math.max(0, index));
  return earlier.findLast(({ reply }) => reply.status !== broken.status)?.reply.exchange;
}
