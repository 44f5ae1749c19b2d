/**
 * The rows of a kill matrix: whether a case of its rule catches each defect, and what is expected.
 */
import { allCases } from '#conformance/cases/all.ts';
import { defects } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import type { Kill } from './kill.ts';

export type RowVerdict =
  /** A case of the defect's rule fails. */
  | 'caught'
  /** Survives for the reason in its catalogue entry. */
  | 'unseen'
  /** Only cases of other rules fail. */
  | 'ELSEWHERE'
  /** No case fails. */
  | 'ALIVE'
  /** Fails a case although its entry says that it cannot be seen. */
  | 'SEEN';

/** The outcome of one defect. */
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

/** True if the defect is caught, or cannot be seen for the reason in its entry. */
export function isExpected(tried: Tried, hasControl: boolean): boolean {
  return ['caught', 'unseen'].includes(verdictOf(tried, hasControl));
}

/**
 * The cases that no defect of their rule fails, so that nothing shows that they can fail. Looks at
 * the rules of which every defect was tried.
 */
export function untestedCases(tried: readonly Tried[]): readonly string[] {
  const names = tried.map(({ defect }) => defect.name);
  const partlyTried = defects.filter(({ name }) => !names.includes(name)).map(({ rule }) => rule);
  const failing = tried.flatMap(({ kill }) => kill?.caughtBy ?? []);
  return allCases
    .filter((one) => !('run' in one) && !partlyTried.some((rule) => rule === one.subject))
    .map(({ id }) => id)
    .filter((id) => !failing.includes(id));
}

export function rowOf(tried: Tried, hasControl: boolean): string {
  const { defect, kill, error } = tried;
  const verdict = verdictOf(tried, hasControl);
  const cases = kill?.caughtBy.map((id) => id.split('/')[1]).join(', ');
  const shown = error ?? (verdict === 'unseen' ? defect.unseen : cases) ?? '';
  const tookMs = String(kill?.tookMs ?? 0).padStart(6);
  return `${defect.name.padEnd(34)} ${defect.rule.padEnd(8)} ${verdict.padEnd(9)} ${tookMs} ms  ${shown}`;
}
