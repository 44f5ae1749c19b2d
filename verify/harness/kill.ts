/**
 * Puts one planted defect before the harness and says which cases fail on it. Cases of the broken
 * rule run first; all others run only where none of them fails. With levers the harness moves time
 * and makes its own accounts; without, it has what flags give it, in real time.
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
import { serveWithFlags } from './flags-world.ts';

export type Means = 'levers' | 'flags';

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
  { name, rule }: Pick<Defect, 'name' | 'rule'>,
  means: Means = 'levers',
): Promise<Kill> {
  const startedMs = performance.now();
  const own = await resultsOn(name, [rule], means);
  const caughtBy = idsOfFailures(own);
  let elsewhere: string[] = [];
  if (caughtBy.length === 0) {
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
  means: Means = 'levers',
): Promise<readonly CaseResult[]> {
  const simulation = name === undefined ? undefined : wrongSimulation(name);
  if (name !== undefined && simulation === undefined)
    throw new Error(`no defect is called ${name}`);
  const { results } =
    means === 'levers'
      ? await runConform(patterns, () => startOwnSimulator({ clock: 'manual' }, { simulation }))
      : await runWithFlags(patterns, simulation);
  return results.filter(({ kind }) => kind === 'rule');
}

async function runWithFlags(
  patterns: readonly string[],
  simulation: ReturnType<typeof wrongSimulation>,
) {
  const served = await serveWithFlags({ simulation });
  try {
    return await runConform([served.baseUrl, ...patterns, ...served.flags, '--timeout', '2m']);
  } finally {
    await served.close();
  }
}

function idsOfFailures(results: readonly CaseResult[]): string[] {
  return failures(results).map(({ id }) => id);
}

function outcome({ id, verdict, reason = '' }: CaseResult): string {
  return `${id}: ${verdict}${reason === '' ? '' : ` (${reason.split('\n')[0]})`}`;
}
