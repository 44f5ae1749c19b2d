/** The families of limiters that are known, each with the limits that explain what they decided. */
import type { Decision, PossibleLimits, Span, Version } from './decision.ts';
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
  /** True if a request after a pause opens the first of its counted windows. */
  readonly isFromFirst: boolean;
  readonly possibleLimits: PossibleLimits;
}

type Row = readonly [
  name: string,
  Algorithm,
  PossibleLimits,
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
  ([name, algorithm, possibleLimits, modes, phase]) =>
    modes.map((refusals) => ({
      name,
      algorithm,
      refusals,
      hasPhase: phase !== undefined,
      isProlonged: possibleLimits === prolongedWindow,
      isFromFirst: possibleLimits === slidingCounterFromFirst,
      possibleLimits: refusals === 'block' ? blocking(possibleLimits) : possibleLimits,
    })),
);

/** Passes up to the first refusal, and the refusals of the block that it begins. */
function blocksOf(decisions: readonly Decision[]): readonly (readonly Decision[])[] {
  const known = knownBlocks.get(decisions);
  if (known !== undefined) return known;
  const blocks: Decision[][] = [];
  for (const [i, decision] of decisions.entries()) {
    const isNew = i === 0 || (decision.passed && decisions[i - 1]?.passed === false);
    if (isNew) blocks.push([]);
    blocks.at(-1)?.push(decision);
  }
  knownBlocks.set(decisions, blocks);
  return blocks;
}

const knownBlocks = new WeakMap<readonly Decision[], readonly (readonly Decision[])[]>();

/** How long a block lasts after its first refusal: least and most, as far as blocks were seen. */
export function blockMs(decisions: readonly Decision[]): Span {
  let [least, most] = [0, Number.POSITIVE_INFINITY];
  const blocks = blocksOf(decisions);
  for (const [i, block] of blocks.entries()) {
    const first = block.find(({ passed }) => !passed);
    const last = block.at(-1);
    if (first === undefined || last === undefined) continue;
    least = Math.max(least, last.from - first.to);
    const next = blocks[i + 1]?.[0];
    if (next !== undefined) most = Math.min(most, next.to - first.from);
  }
  return [least, most];
}

/** The first refusal blocks the caller for some time; after it, all counts begin again. */
function blocking(possibleLimits: PossibleLimits): PossibleLimits {
  return (decisions, version) => {
    const [least, most] = blockMs(decisions);
    if (least > most) return undefined;
    let limit: Span | undefined = version.limit;
    for (const [i, block] of blocksOf(decisions).entries()) {
      const refusal = block.findIndex(({ passed }) => !passed);
      const judged = refusal < 0 ? block : block.slice(0, refusal + 1);
      limit = possibleLimits(judged, { ...ofBlock(version, i), limit });
      if (limit === undefined) return undefined;
    }
    return limit;
  };
}

function ofBlock(version: Version, number: number): Version {
  return number === 0 ? version : { ...version, knownSince: Number.NEGATIVE_INFINITY };
}
