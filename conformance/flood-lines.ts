/**
 * A flood in a few lines: runs of equal statuses with their times, instead of hundreds of requests.
 */
import type { Exchange as ShownExchange } from './exchange.ts';
import type { Exchange } from './judges/exchange.ts';

const mostLines = 20;

/** Such as `+0.000 s to +0.912 s: 97 answered 200`. */
export function runsOf(exchanges: readonly Exchange[]): string[] {
  const [first, ...rest] = exchanges;
  if (first === undefined) return [];
  const since = (atMs: number) => `+${((atMs - first.sentAt) / 1_000).toFixed(3)} s`;
  const runs: Exchange[][] = [[first]];
  for (const one of rest) {
    const run = runs.at(-1);
    if (run?.[0]?.reply.status === one.reply.status) run.push(one);
    else runs.push([one]);
  }
  const lines = runs.map((run) => {
    const end = Math.max(...run.map(({ answeredAt }) => answeredAt));
    const [begin = first] = run;
    const wait = begin.reply.headers['retry-after'];
    const note = wait === undefined ? '' : `, the first with Retry-After: ${wait}`;
    return `${since(begin.sentAt)} to ${since(end)}: ${run.length} answered ${begin.reply.status}${note}`;
  });
  const left = lines.length - mostLines;
  const more = left > 0 ? [`… and ${left} more changes of the status`] : [];
  return [
    `${new Date(first.sentAt).toISOString()}: the first of ${exchanges.length} requests; ${countsOf(exchanges)}`,
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
  broken: ShownExchange,
): ShownExchange | undefined {
  const at = exchanges.findIndex(({ reply }) => reply.exchange === broken);
  return exchanges.slice(0, Math.max(0, at)).findLast(({ reply }) => reply.status !== broken.status)
    ?.reply.exchange;
}
