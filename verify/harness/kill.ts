/**
 * Runs the harness against one planted defect and returns the cases that fail. Cases of the broken
 * rule run first; the others run only if none of those fails, to show where to look. With a control
 * port the harness moves time and creates its own accounts; otherwise it uses flags only. Also
 * writes the rows of a kill matrix: whether a defect is caught, and what is expected.
 */
import { allCases } from '#conformance/cases/all.ts';
import { rules } from '#contract/rules.ts';
import { defects, wrongSimulation } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import {
  type CaseResult,
  failures,
  runConform,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { type FlagsWorldPlan, runWithFlags } from './flags-world.ts';

/** What the harness can use: a control port, or flags only (at a given speed). */
export type Means = { readonly control: true } | Pick<FlagsWorldPlan, 'rate' | 'asksForTasks'>;

export const withControl: Means = { control: true };

export interface Kill {
  /** Cases of the rule that fail. */
  readonly caughtBy: readonly string[];
  /** Failing cases of other rules, if none of the rule itself fails. */
  readonly elsewhere: readonly string[];
  /** The verdicts of the rule's cases, if none of them fails. */
  readonly verdicts: readonly string[];
  readonly tookMs: number;
}

/** Throws if there is no defect of this name. */
export async function tryDefect(
  { name, rule, unseen }: Pick<Defect, 'name' | 'rule' | 'unseen'>,
  means: Means = withControl,
  looksElsewhere = true,
): Promise<Kill> {
  const startedMs = performance.now();
  let results: readonly CaseResult[] = [];
  let caughtBy: string[] = [];
  // With flags only: tries a device that the service polls, then one that polls for tasks itself.
  const tries = 'control' in means ? [means] : [means, { ...means, asksForTasks: true }];
  for (const meansOfTry of tries) {
    results = await resultsOn(name, [rule], meansOfTry);
    caughtBy = idsOfFailures(results);
    if (caughtBy.length > 0) break;
  }
  let elsewhere: string[] = [];
  if (looksElsewhere && caughtBy.length === 0 && ('control' in means || unseen === undefined)) {
    const others = rules.map(({ id }) => id).filter((id) => id !== rule);
    elsewhere = idsOfFailures(await resultsOn(name, others, means));
  }
  return {
    caughtBy,
    elsewhere,
    verdicts: caughtBy.length > 0 ? [] : results.map(outcomeText),
    tookMs: Math.round(performance.now() - startedMs),
  };
}

/** The results of these rules' cases on a simulator with the defect. */
async function resultsOn(
  name: string,
  patterns: readonly string[],
  means: Means,
): Promise<readonly CaseResult[]> {
  const simulation = wrongSimulation(name);
  if (simulation === undefined) throw new Error(`no defect is called ${name}`);
  const { results } =
    'control' in means
      ? await runConform(patterns, {
          startOwn: () => startOwnSimulator({ clock: 'manual' }, { simulation }),
        })
      : await runWithFlags(patterns, { ...means, simulation });
  return results.filter(({ kind }) => kind === 'rule');
}

function idsOfFailures(results: readonly CaseResult[]): string[] {
  return failures(results).map(({ id }) => id);
}

function outcomeText({ id, verdict, reason = '' }: CaseResult): string {
  return `${id}: ${verdict}${reason === '' ? '' : ` (${reason.split('\n')[0]})`}`;
}

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
