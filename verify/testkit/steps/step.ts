/**
 * A kind of step: the random values that it takes, and its effect on a run. A step is data and
 * names its targets by position, so it stays valid when fast-check removes the steps before it.
 */
import fc from 'fast-check';
import { limitedEndpoints } from '#contract/limits.ts';
import { accountCount, lastPosition } from '../twin/callers.ts';
import type { ComparedRun } from '../twin/compared-run.ts';

export interface StepKind<Kind extends string, Fields> {
  readonly kind: Kind;
  /** How fast-check draws and shrinks the step. */
  readonly drawn: fc.Arbitrary<Fields & { kind: Kind }>;
  /** Plays the step; returns a description of it. */
  readonly play: (run: ComparedRun, step: Fields) => string;
}

export function stepKind<const Kind extends string, Fields extends object>(
  kind: Kind,
  fields: fc.Arbitrary<Fields>,
  play: (run: ComparedRun, step: Fields) => string,
): StepKind<Kind, Fields> {
  return { kind, drawn: fields.map((drawn) => ({ ...drawn, kind })), play };
}

export function weighted<T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]) {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Draws `usual` in eleven of twelve cases: then most requests have at most one odd part. */
export function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return weighted([11, usual], [1, odd]);
}

// The random targets of steps, and ways to write an id in a path.

export const position = fc.nat({ max: lastPosition });
export const caller = fc.nat({ max: accountCount - 1 });
/** A caller, or the pool: the index after the last account. */
export const owner = fc.nat({ max: accountCount });

export const limited = fc.constantFrom(...limitedEndpoints);

/** How an id in a path differs from its usual form: in upper case, or without all or one hyphen. */
export type Spelling = 'upper' | 'bare' | 'upper_bare' | 'half';
export const spelling = fc.constantFrom<Spelling>('upper', 'bare', 'upper_bare', 'half');

/** The id in this spelling; undefined leaves it as it is. */
export function spelt(id: string, spelling: Spelling | undefined): string {
  if (spelling === undefined) return id;
  if (spelling === 'half') return id.replace('-', '');
  const text = spelling === 'upper' ? id : id.replaceAll('-', '');
  return spelling === 'bare' ? text : text.toUpperCase();
}

/** Gives steps that name no owner the caller as the owner of their target. */
export function whoseOf<Step extends { who: number; whose: number | undefined }>(
  steps: fc.Arbitrary<Step>,
): fc.Arbitrary<Step & { whose: number }> {
  return steps.map((step) => ({ ...step, whose: step.whose ?? step.who }));
}
