/**
 * The targets of steps: callers, positions in a list, and ids in the spelling of a path.
 */
import fc from 'fast-check';
import { accountCount } from '../session.ts';

export const position = fc.nat({ max: 7 });
export const caller = fc.nat({ max: accountCount - 1 });
/** A caller, or the pool: the index after the last account. */
export const owner = fc.nat({ max: accountCount });

export const limitedEndpoints = [
  'send',
  'dashboard_send',
  'external_send',
  'received',
  'tasks',
] as const;
export const limited = fc.constantFrom(...limitedEndpoints);

export type Spelling = 'upper' | 'bare' | 'upper_bare' | 'half';
export const spelling = fc.constantFrom<Spelling>('upper', 'bare', 'upper_bare', 'half');

export function spelt(id: string, spelling: Spelling | undefined): string {
  if (spelling === undefined) return id;
  if (spelling === 'half') return id.replace('-', '');
  const text = spelling === 'upper' ? id : id.replaceAll('-', '');
  return spelling === 'bare' ? text : text.toUpperCase();
}

/** Mostly an object of the caller; otherwise an object of `others`. */
export function whoseOf<Step extends { who: number; whose: number | undefined }>(
  steps: fc.Arbitrary<Step>,
): fc.Arbitrary<Step & { whose: number }> {
  return steps.map((step) => ({ ...step, whose: step.whose ?? step.who }));
}
