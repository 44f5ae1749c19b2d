/**
 * What changed between two recordings of a service (`--drift`): verdicts, answers where the
 * document is silent, and members of replies, if each reply had one in one recording and none in
 * the other. Anything that one of the recordings does not show is no drift.
 */
import { table } from '#io/table.ts';
import type { Observations } from '#judging/recorded/observations.ts';
import { isFailure, type Result } from '#judging/report/result.ts';

/** What a recording shows of its service. */
export interface Portrait {
  readonly results: readonly Result[];
  readonly observations: Observations;
}

/** A row of the table of changes. */
type Row = readonly [what: string, before: string, now: string];

export function driftOf(before: Portrait, now: Portrait): Row[] {
  return [...verdictRows(before, now), ...answerRows(before, now), ...shapeRows(before, now)];
}

export function driftTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'Nothing drifted.\n';
  return `Drifted:\n${table([['WHAT', 'BEFORE', 'NOW'], ...rows])}`;
}

function verdictRows(before: Portrait, now: Portrait): Row[] {
  const isKnown = ({ verdict }: Result) => verdict === 'passed' || isFailure(verdict);
  return now.results.flatMap((result): Row[] => {
    const { id, subject, verdict } = result;
    const earlier = before.results.find((each) => each.id === id);
    if (earlier === undefined || !isKnown(earlier) || !isKnown(result)) return [];
    return earlier.verdict === verdict ? [] : [[subject, earlier.verdict, verdict]];
  });
}

function answerRows(before: Portrait, now: Portrait): Row[] {
  const earlier = before.observations.discovered().answers;
  return Object.entries(now.observations.discovered().answers).flatMap(([name, answer]): Row[] =>
    earlier[name] === undefined || earlier[name] === answer
      ? []
      : [[name, String(earlier[name]), String(answer)]],
  );
}

function shapeRows(before: Portrait, now: Portrait): Row[] {
  const rows: Row[] = [];
  for (const [name, shape] of now.observations.shapes) {
    const earlier = before.observations.shapes.get(name);
    if (earlier === undefined) continue;
    for (const member of new Set([...earlier.members.keys(), ...shape.members.keys()])) {
      const shareBefore = (earlier.members.get(member) ?? 0) / earlier.replies;
      const shareNow = (shape.members.get(member) ?? 0) / shape.replies;
      const what = `${name}: ${member}`;
      if (shareBefore === 1 && shareNow === 0) rows.push([what, 'always', 'never']);
      if (shareBefore === 0 && shareNow === 1) rows.push([what, 'never', 'always']);
    }
  }
  return rows;
}
