/**
 * Puts one planted defect before the harness and says which cases fail on it. Cases of the broken
 * rule run first; all others run only where none of them fails, to show where to look. With levers
 * the harness moves time and makes its own accounts; without, it has what flags give it.
 */
import { rules } from '../../conformance/rules.ts';
import { wrongSimulation } from '../../src/defects/all.ts';
import type { Defect } from '../../src/defects/catalogue.ts';
import {
  type CaseResult,
  failures,
  runConform,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { runWithFlags } from './flags-only.ts';
import type { FlagsWorldPlan } from './flags-world.ts';

/** Levers; or flags alone, at a speed of time. */
export type Means = { readonly levers: true } | Pick<FlagsWorldPlan, 'rate' | 'asksForTasks'>;

export const levers: Means = { levers: true };

export interface Kill {
  readonly name: string;
  readonly rule: string;
  /** Cases of the rule that fail. */
  readonly caughtBy: readonly string[];
  /** Cases of other rules that fail, where none of its own does. */
  readonly elsewhere: readonly string[];
  /** The verdicts of the rule's cases, where none of them fails. */
  readonly verdicts: readonly string[];
  readonly tookMs: number;
}

/** Throws for a name that no defect has. */
export async function tryDefect(
  { name, rule, unseen }: Pick<Defect, 'name' | 'rule' | 'unseen'>,
  means: Means = levers,
  looksElsewhere = true,
): Promise<Kill> {
  const startedMs = performance.now();
  let own: readonly CaseResult[] = [];
  let caughtBy: string[] = [];
  // A device that the service polls, and one that asks for its work itself.
  for (const one of 'levers' in means ? [means] : [means, { ...means, asksForTasks: true }]) {
    own = await resultsOn(name, [rule], one);
    caughtBy = idsOfFailures(own);
    if (caughtBy.length > 0) break;
  }
  let elsewhere: string[] = [];
  if (looksElsewhere && caughtBy.length === 0 && ('levers' in means || unseen === undefined)) {
    const others = rules.map(({ id }) => id).filter((id) => id !== rule);
    elsewhere = idsOfFailures(await resultsOn(name, others, means));
  }
  return {
    name,
    rule,
    caughtBy,
    elsewhere,
    verdicts: caughtBy.length > 0 ? [] : own.map(outcome),
    tookMs: Math.round(performance.now() - startedMs),
  };
}

/**
 * The results of the cases of these rules on a simulator with the defect; without a name, on a
 * sound one.
 */
export async function resultsOn(
  name: string | undefined,
  patterns: readonly string[],
  means: Means = levers,
): Promise<readonly CaseResult[]> {
  const simulation = name === undefined ? undefined : wrongSimulation(name);
  if (name !== undefined && simulation === undefined)
    throw new Error(`no defect is called ${name}`);
  const { results } =
    'levers' in means
      ? await runConform(patterns, {
          startOwn: () => startOwnSimulator({ clock: 'manual' }, { simulation }),
        })
      : await runWithFlags(patterns, { ...means, simulation });
  return results.filter(({ kind }) => kind === 'rule');
}

function idsOfFailures(results: readonly CaseResult[]): string[] {
  return failures(results).map(({ id }) => id);
}

function outcome({ id, verdict, reason = '' }: CaseResult): string {
  return `${id}: ${verdict}${reason === '' ? '' : ` (${reason.split('\n')[0]})`}`;
}
