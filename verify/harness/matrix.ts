/** The rows of a kill matrix, and whether the matrix passes. */
import type { Defect } from '../defects/planted.ts';
import type { Kill } from './kill.ts';

export type RowVerdict =
  | 'caught'
  /** Survives for the reason in its catalogue entry. */
  | 'unseen'
  /** Only cases of other rules fail. */
  | 'ELSEWHERE'
  | 'ALIVE'
  /** Fails a case although its entry says that it cannot be seen. */
  | 'SEEN';

export interface Tried {
  readonly defect: Defect;
  readonly kill?: Kill;
  /** An error of the harness itself. */
  readonly error?: string;
}

export function verdictOf({ defect, kill }: Tried, hasControl: boolean): RowVerdict {
  const isCaught = (kill?.caughtBy.length ?? 0) > 0;
  const mayBeUnseen = !hasControl && defect.unseen !== undefined;
  if (isCaught) return mayBeUnseen ? 'SEEN' : 'caught';
  if (mayBeUnseen && kill !== undefined) return 'unseen';
  return (kill?.elsewhere.length ?? 0) > 0 ? 'ELSEWHERE' : 'ALIVE';
}

export function isAsItShouldBe(tried: Tried, hasControl: boolean): boolean {
  return ['caught', 'unseen'].includes(verdictOf(tried, hasControl));
}

export function rowOf(tried: Tried, hasControl: boolean): string {
  const { defect, kill, error } = tried;
  const verdict = verdictOf(tried, hasControl);
  const cases = kill?.caughtBy.map((id) => id.split('/')[1]).join(', ');
  const shown = error ?? (verdict === 'unseen' ? defect.unseen : cases) ?? '';
  const took = String(kill?.tookMs ?? 0).padStart(6);
  return `${defect.name.padEnd(34)} ${defect.rule.padEnd(8)} ${verdict.padEnd(9)} ${took} ms  ${shown}`;
}
