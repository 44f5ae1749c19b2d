/**
 * One defect put before the harness: which cases fail on a simulator that has it. Those of the rule that it breaks
 * are run first, all others only where none of them fails.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conform, type OwnSimulator } from '../../conformance/main.ts';
import { rules } from '../../conformance/rules.ts';
import { wrongSimulation } from '../../src/defects/all.ts';
import type { Defect } from '../../src/defects/catalogue.ts';
import { createSimulator } from '../../src/simulator.ts';

export interface Kill {
  readonly name: string;
  readonly rule: string;
  /** Cases of the rule that fail. */
  readonly caughtBy: readonly string[];
  /** Cases of other rules that fail, where none of its own does. */
  readonly elsewhere: readonly string[];
  /** What the rule's cases came to where none of them fails. */
  readonly verdicts: readonly string[];
  readonly tookMs: number;
}

/** What is needed of a result in the harness's JSON report. */
interface CaseResult {
  readonly id: string;
  readonly subject: string;
  readonly kind: 'rule' | 'assumption';
  readonly verdict: string;
  readonly reason?: string;
}

/** Throws for a name that no defect has. */
export async function tryDefect({ name, rule }: Pick<Defect, 'name' | 'rule'>): Promise<Kill> {
  const startedMs = performance.now();
  const own = await resultsOn(name, [rule]);
  const caughtBy = failed(own);
  let elsewhere: string[] = [];
  if (caughtBy.length === 0) {
    const others = rules.map(({ id }) => id).filter((id) => id !== rule);
    elsewhere = failed(await resultsOn(name, others));
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

/** The results of the cases of these rules on a simulator with the defect; without a name, on a sound one. */
export async function resultsOn(
  name: string | undefined,
  patterns: readonly string[],
): Promise<readonly CaseResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-defect-'));
  const file = join(folder, 'report.json');
  const errors: string[] = [];
  try {
    await conform([...patterns, '--report', `json=${file}`], {
      stdout: () => {},
      stderr: (text) => errors.push(text),
      startOwn: () => startWrong(name),
      signal: new AbortController().signal,
    });
    const report = JSON.parse(await readFile(file, 'utf8')) as { results: CaseResult[] };
    return report.results.filter(({ kind }) => kind === 'rule');
  } catch (error) {
    throw new Error(`${name ?? 'sound'}: ${String(error)} ${errors.join('')}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function startWrong(name: string | undefined): Promise<OwnSimulator> {
  const simulation = name === undefined ? undefined : wrongSimulation(name);
  if (name !== undefined && simulation === undefined)
    throw new Error(`no defect is called ${name}`);
  const simulator = await createSimulator({ clock: 'manual' }, { simulation, journal: false });
  const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
  if (controlUrl === null) throw new Error('a simulator of our own has a control port');
  return { baseUrl, controlUrl, close: () => simulator.close() };
}

function failed(results: readonly CaseResult[]): string[] {
  const isFailure = ({ verdict }: CaseResult) => verdict === 'failed' || verdict === 'spelling';
  return results.filter(isFailure).map(({ id }) => id);
}

function outcome({ id, verdict, reason = '' }: CaseResult): string {
  return `${id}: ${verdict}${reason === '' ? '' : ` (${reason.split('\n')[0]})`}`;
}
