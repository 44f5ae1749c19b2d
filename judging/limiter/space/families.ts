/** The families of limiters that are known, each with the function that contradicts its versions. */
import type { Contradiction, Decision, Version } from './decision.ts';
import { slidingLog, tokenBucket } from './log-and-tokens.ts';
import {
  alignedWindow,
  fixedWindow,
  prolongedWindow,
  slidingCounter,
  slidingCounterFromFirst,
} from './windows.ts';

export type Algorithm =
  | 'fixed_window'
  | 'aligned_window'
  | 'sliding_log'
  | 'sliding_counter'
  | 'token_bucket'
  | 'none_of_these';

/** What a refused request does: nothing, count as one that passed, or begin a block. */
export type Refusals = 'free' | 'spend' | 'block';

export interface Family {
  readonly name: string;
  readonly algorithm: Algorithm;
  readonly refusals: Refusals;
  readonly hasPhase: boolean;
  /** True if each request moves the end of the window. */
  readonly isProlonged: boolean;
  readonly contradiction: Contradiction;
}

type Row = readonly [
  name: string,
  Algorithm,
  Contradiction,
  refusals: readonly Refusals[],
  hasPhase?: 'phase',
];

const rows: readonly Row[] = [
  ['fixed_window', 'fixed_window', fixedWindow, ['free', 'block']],
  ['aligned_window', 'aligned_window', alignedWindow, ['free'], 'phase'],
  ['sliding_log', 'sliding_log', slidingLog, ['free', 'spend', 'block']],
  ['sliding_counter', 'sliding_counter', slidingCounter, ['free', 'spend'], 'phase'],
  ['sliding_counter_from_first', 'sliding_counter', slidingCounterFromFirst, ['free', 'spend']],
  ['token_bucket', 'token_bucket', tokenBucket, ['free']],
  ['prolonged_window', 'none_of_these', prolongedWindow, ['spend', 'free']],
];

export const families: readonly Family[] = rows.flatMap(
  ([name, algorithm, contradiction, modes, phase]) =>
    modes.map((refusals) => ({
      name,
      algorithm,
      refusals,
      hasPhase: phase !== undefined,
      isProlonged: contradiction === prolongedWindow,
      contradiction: refusals === 'block' ? blocking(contradiction) : contradiction,
    })),
);

/** Passes up to the first refusal, and the refusals of the block that it begins. */
function segmentsOf(decisions: readonly Decision[]): readonly (readonly [number, number])[] {
  const segments: [number, number][] = [];
  for (const [i, { passed }] of decisions.entries()) {
    const isNew = i === 0 || (passed && decisions[i - 1]?.passed === false);
    if (isNew) segments.push([i, i + 1]);
    const last = segments.at(-1);
    if (last !== undefined) last[1] = i + 1;
  }
  return segments;
}

/** How long a block lasts after its first refusal: least and most, as far as blocks were seen. */
export function blockMs(decisions: readonly Decision[]): readonly [number, number] {
  let [least, most] = [0, Number.POSITIVE_INFINITY];
  for (const [start, end] of segmentsOf(decisions)) {
    const refused = decisions.slice(start, end).filter(({ passed }) => !passed);
    const [first, last] = [refused[0], refused.at(-1)];
    if (first === undefined || last === undefined) continue;
    least = Math.max(least, last.from - first.to);
    const next = decisions[end];
    if (next !== undefined) most = Math.min(most, next.to - first.from);
  }
  return [least, most];
}

/** The first refusal blocks the caller for some time; after it, all counts begin again. */
function blocking(contradiction: Contradiction): Contradiction {
  return (decisions, version) => {
    const [least, most] = blockMs(decisions);
    if (least > most) return decisions.length - 1;
    for (const [i, [start, end]] of segmentsOf(decisions).entries()) {
      const refusal = decisions.slice(start, end).findIndex(({ passed }) => !passed);
      const judged = decisions.slice(start, refusal < 0 ? end : start + refusal + 1);
      const found = contradiction(judged, ofSegment(version, i));
      if (found !== undefined) return start + found;
    }
    return undefined;
  };
}

function ofSegment(version: Version, number: number): Version {
  return number === 0 ? version : { ...version, knownSince: Number.NEGATIVE_INFINITY };
}
