/**
 * The kill matrix: runs the harness against one planted defect, and says what is wrong with the
 * outcome. Cases of the broken rule run first; the others run only if none of those fails, to show
 * where to look. With a control port the harness moves time and creates its own accounts; otherwise
 * it uses flags only.
 */
import { allCases } from '#conformance/cases/all.ts';
import { rules } from '#contract/rules.ts';
import { defects, wrongSimulation } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import {
  type CaseResult,
  failures,
  runConformWithReport,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { type FlagsWorldPlan, runWithFlags } from './flags-world.ts';

/** How the harness reaches the world: by a control port, or by flags only, at a given speed. */
export type Access = { readonly control: true } | Pick<FlagsWorldPlan, 'rate' | 'asksForTasks'>;

export const withControl: Access = { control: true };

/** What the harness found of a defect. */
export interface Kill {
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
  access: Access = withControl,
  looksElsewhere = true,
): Promise<Kill> {
  const startedMs = performance.now();
  let results: readonly CaseResult[] = [];
  let caughtBy: string[] = [];
  // With flags only: tries a device that the service polls, then one that polls for tasks itself.
  const tries = 'control' in access ? [access] : [access, { ...access, asksForTasks: true }];
  for (const accessOfTry of tries) {
    results = await resultsOn(name, [rule], accessOfTry);
    caughtBy = idsOfFailures(results);
    if (caughtBy.length > 0) break;
  }
  let elsewhere: string[] = [];
  if (looksElsewhere && caughtBy.length === 0 && ('control' in access || unseen === undefined)) {
    const others = rules.map(({ id }) => id).filter((id) => id !== rule);
    elsewhere = idsOfFailures(await resultsOn(name, others, access));
  }
  return {
    caughtBy,
    elsewhere,
    verdicts: caughtBy.length > 0 ? [] : results.map(outcomeText),
    tookMs: Math.round(performance.now() - startedMs),
  };
}

/**
 * The same with a control port, but only as far as some case of the rule fails. First run those
 * that no earlier defect fails, together, so that each case meets every defect until one fails it;
 * then the one that most defects fail; then the others.
 */
export async function tryInTurn(
  defect: Pick<Defect, 'name' | 'rule'>,
  earlier: ReadonlyMap<unknown, Kill>,
): Promise<Kill> {
  const startedMs = performance.now();
  const failing = [...earlier.values()].flatMap(({ caughtBy }) => caughtBy);
  const timesOf = (id: string) => failing.filter((each) => each === id).length;
  const cases = allCases.flatMap((one) =>
    'run' in one || one.subject !== defect.rule ? [] : [one.id],
  );
  const tried = cases
    .filter((id) => timesOf(id) > 0)
    .sort((one, other) => timesOf(other) - timesOf(one));
  const inTurn = [
    cases.filter((id) => timesOf(id) === 0),
    tried.slice(0, 1),
    tried.length > 1 ? [...tried.slice(1), '--bail'] : [],
  ].filter((patterns) => patterns.length > 0);
  for (const patterns of inTurn) {
    const caughtBy = idsOfFailures(await resultsOn(defect.name, patterns, withControl));
    const tookMs = Math.round(performance.now() - startedMs);
    if (caughtBy.length > 0) return { caughtBy, elsewhere: [], verdicts: [], tookMs };
  }
  return tryDefect(defect);
}

/** The results of these rules' cases on a simulator with the defect. */
async function resultsOn(
  name: string,
  patterns: readonly string[],
  access: Access,
): Promise<readonly CaseResult[]> {
  const simulation = wrongSimulation(name);
  if (simulation === undefined) throw new Error(`no defect is called ${name}`);
  const { results } =
    'control' in access
      ? await runConformWithReport(patterns, {
          startOwn: () => startOwnSimulator({ clock: 'manual' }, { simulation }),
        })
      : await runWithFlags(patterns, { ...access, simulation });
  return results.filter(({ kind }) => kind === 'rule');
}

function idsOfFailures(results: readonly CaseResult[]): string[] {
  return failures(results).map(({ id }) => id);
}

function outcomeText({ id, verdict, reason = '' }: CaseResult): string {
  return `${id}: ${verdict}${reason === '' ? '' : ` (${reason.split('\n')[0]})`}`;
}

/** What is wrong with this outcome; undefined if the defect is caught, or states why it is not. */
export function complaintOf(
  { rule, unseen }: Defect,
  { caughtBy, verdicts, elsewhere }: Kill,
  hasControl: boolean,
): string | undefined {
  const isCaught = caughtBy.length > 0;
  const mayBeUnseen = !hasControl && unseen !== undefined;
  if (isCaught !== mayBeUnseen) return undefined;
  if (isCaught) return `seen, though "${unseen}"`;
  return [`no case of ${rule} fails`, ...verdicts, ...elsewhere].join('\n  ');
}

/**
 * The cases that no defect of their rule fails, so that nothing shows that they can fail. Looks at
 * the rules of which every defect was tried.
 */
export function untestedCases(kills: ReadonlyMap<Defect, Kill>): readonly string[] {
  const partlyTried = defects.filter((defect) => !kills.has(defect)).map(({ rule }) => rule);
  const failing = [...kills.values()].flatMap(({ caughtBy }) => caughtBy);
  return allCases
    .filter((one) => !('run' in one) && !partlyTried.some((rule) => rule === one.subject))
    .map(({ id }) => id)
    .filter((id) => !failing.includes(id));
}

export function rowOf({ name, rule, unseen = '' }: Defect, { caughtBy, tookMs }: Kill): string {
  const cases = caughtBy.map((id) => id.split('/')[1]).join(', ');
  return `${name.padEnd(34)} ${rule.padEnd(8)} ${String(tookMs).padStart(6)} ms  ${cases || unseen}`;
}
