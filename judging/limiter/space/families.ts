/** The families of limiters that are known, each with the limits that explain what they decided. */
import { alignedWindow, anyRounding, cappedSlidingCounter, slidingCounter } from './counters.ts';
import { hullOf, type Span, type Version, withLimit } from './decision.ts';
import type { Group, History, LimitsByRounding, PossibleLimits } from './history.ts';
import { slidingLog, tokenBucket, withBucket } from './log-and-tokens.ts';
import { fixedWindow, prolongedWindow, slidingCounterFromFirst } from './windows.ts';

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

/** What is added before a counter rounds down: it rounds down, to the next number, or up. */
const roundings = [0, 0.5, 1 - 1e-9];
/** The highest limit whose decisions show how a counter rounds. */
const fewToRound = 2;

const fromFirst = alwaysRounded(slidingCounterFromFirst);

const rows: readonly Row[] = [
  ['fixed_window', 'fixed_window', fixedWindow, ['free', 'block']],
  ['aligned_window', 'aligned_window', alignedWindow, ['free'], 'phase'],
  ['sliding_log', 'sliding_log', slidingLog, ['free', 'spend', 'block']],
  ['sliding_counter', 'sliding_counter', alwaysRounded(slidingCounter), ['free', 'spend'], 'phase'],
  ['sliding_counter_from_first', 'sliding_counter', fromFirst, ['free', 'spend']],
  ['token_bucket', 'token_bucket', tokenBucket, ['free']],
  ['prolonged_window', 'none_of_these', prolongedWindow, ['spend', 'free']],
];

/**
 * Rare limiters, which explain little that the others do not. An audit looks at them only if no
 * other explains what it saw: to exclude them always would take many more requests.
 */
const rareRows: readonly Row[] = [
  [
    'sliding_counter_capped',
    'sliding_counter',
    alwaysRounded(cappedSlidingCounter),
    ['spend'],
    'phase',
  ],
  ['token_bucket', 'token_bucket', tokenBucket, ['spend']],
];

export const families: readonly Family[] = familiesOf(rows);
export const rareFamilies: readonly Family[] = familiesOf(rareRows);

/** Two limiters at once with this limit, and a window in this span: a window, and a bucket. */
export function windowsWithBucket(limit: number, windowMs: Span): readonly Family[] {
  const both = (window: PossibleLimits) => withBucket(window, limit, windowMs);
  return familiesOf([
    ['fixed_window_and_bucket', 'none_of_these', both(fixedWindow), ['free']],
    ['aligned_window_and_bucket', 'none_of_these', both(alignedWindow), ['free'], 'phase'],
  ]);
}

function familiesOf(list: readonly Row[]): Family[] {
  return list.flatMap(([name, algorithm, possibleLimits, modes, phase]) =>
    modes.map((refusals) => ({
      name,
      algorithm,
      refusals,
      hasPhase: phase !== undefined,
      isProlonged: possibleLimits === prolongedWindow,
      isFromFirst: possibleLimits === fromFirst,
      possibleLimits: refusals === 'block' ? blocking(possibleLimits) : possibleLimits,
    })),
  );
}

/** How long a block lasts after its first refusal: least and most, as far as blocks were seen. */
export function blockMs({ groups, blocks }: History): Span {
  let [least, most] = [0, Number.POSITIVE_INFINITY];
  for (const [i, begin] of blocks.entries()) {
    const next = groups[blocks[i + 1] ?? groups.length];
    const refusal = groups[refusalOf(groups, begin)];
    if (refusal === undefined || refusal === next) continue;
    const last = groups[(blocks[i + 1] ?? groups.length) - 1] as Group;
    least = Math.max(least, last.from - refusal.to);
    if (next !== undefined) most = Math.min(most, next.to - refusal.from);
  }
  return [least, most];
}

/** The first refusal of a block: the passes before it make one group or more. */
function refusalOf(groups: readonly Group[], begin: number): number {
  let refusal = begin;
  while (groups[refusal]?.passed === true) refusal += 1;
  return refusal;
}

/** The first refusal blocks the caller for some time; after it, all counts begin again. */
function blocking(possibleLimits: PossibleLimits): PossibleLimits {
  return (history, version, { since, until }) => {
    const [least, most] = blockMs(history);
    if (least > most) return undefined;
    const { groups, blocks } = history;
    let limit: Span | undefined = version.limit;
    for (const [i, begin] of blocks.entries()) {
      const end = blocks[i + 1] ?? until;
      if (end <= since) continue;
      const part = { begin, since: begin, until: Math.min(end, refusalOf(groups, begin) + 1) };
      limit = possibleLimits(history, { ...ofBlock(version, i), limit }, part);
      if (limit === undefined) return undefined;
    }
    return limit;
  };
}

function ofBlock(version: Version, number: number): Version {
  return number === 0 ? version : { ...version, knownSince: Number.NEGATIVE_INFINITY };
}

/** The version that permits the groups before `until`; undefined if none does. */
interface Judged {
  readonly groups: readonly Group[];
  readonly until: number;
  readonly version: Version | undefined;
}

/** A counter rounds the same way each time. With a low limit, only that tells it from others. */
export function alwaysRounded(limitsOf: LimitsByRounding): PossibleLimits {
  const byRounding = roundings.map((rounding) => roundedBy(rounding, limitsOf));
  return (history, version, part) => {
    const limit = limitsOf(anyRounding, history, version, part);
    if (limit === undefined || limit[1] > fewToRound) return limit;
    let found: Span | undefined;
    for (const limitsOfOne of byRounding) {
      found = hullOf([found, limitsOfOne(history, version, part)]);
      // The others can add nothing.
      if (found?.[0] === limit[0] && found[1] === limit[1]) return limit;
    }
    return found;
  };
}

/** A counter that rounds in this way each time. */
function roundedBy(rounding: number, limitsOf: LimitsByRounding): PossibleLimits {
  /** An update continues here, so that it judges each group once. */
  const judged = new WeakMap<Version, Judged>();
  return (history, version, part) => {
    const { groups } = history;
    const judgedUntil = (until: number, before: Judged): Judged => {
      const known = before.version;
      if (before.until === until || known === undefined) return { ...before, until };
      const rest = { ...part, since: before.until, until };
      const limit = limitsOf([rounding, rounding], history, known, rest);
      return { groups, until, version: withLimit(known, limit) };
    };
    const saved = judged.get(version);
    const isUsable = saved?.groups === groups && saved.until <= part.since;
    // It has a version of its own, because judges keep what they know by version.
    const none = { groups, until: part.begin, version: { ...version } };
    const before = judgedUntil(part.since, isUsable ? saved : none);
    judged.set(version, before);
    return judgedUntil(part.until, before).version?.limit;
  };
}
