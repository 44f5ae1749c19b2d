/**
 * Summarises a search in one line and one exit code.
 */
import type { SearchResult, Stop } from './search-result.ts';

const sizes = ['', 'single faults', 'pairs', 'triples'];

/** `explored 34 of 34 single faults and 180 of 180 pairs: exhaustive to depth 2`. */
export function exploredLine(
  { levels, stop, problem }: Pick<SearchResult, 'levels' | 'stop' | 'problem'>,
  { depth, maxRuns }: { readonly depth: number; readonly maxRuns: number },
): string {
  if (levels.length === 0 && stop === undefined) {
    return problem === undefined ? 'explored one schedule' : 'explored nothing';
  }
  const parts = levels.map(
    ({ size, done, total }) =>
      `${done} of ${total} ${sizes[size] ?? `schedules of ${size} faults`}`,
  );
  const last = parts.pop() ?? 'nothing';
  const all = parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
  if (problem !== undefined) return `explored ${all}`;
  const ends: Readonly<Record<Stop, string>> = {
    budget: `the budget of ${maxRuns} run${maxRuns === 1 ? '' : 's'} ended first`,
    bail: 'stopped at the first finding',
    interrupted: 'interrupted',
  };
  return `explored ${all}: ${stop === undefined ? `exhaustive to depth ${depth}` : ends[stop]}`;
}

export function exitCodeOf({ stop, problem, findings, unconfirmed }: SearchResult): number {
  if (stop === 'interrupted') return 130;
  if (problem !== undefined) return 4;
  if (findings.length + unconfirmed.length > 0) return 1;
  return stop === 'budget' ? 6 : 0;
}
