/**
 * The random targets of steps: callers, positions in lists, endpoints with a limit, and ways to
 * write an id in a path.
 */
import fc from 'fast-check';
import { limitedEndpoints } from '#contract/limits.ts';
import { accountCount, lastPosition } from '../twin/session-world.ts';

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
