/**
 * The answers that each assumption is tried with, and what the harness makes of a simulator that
 * gives them.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AssumptionName,
  assumptionLedger,
  assumptionNames,
} from '../../src/sim/assumptions.ts';
import { type ConformReport, runConform, startOwnSimulator } from './conform-run.ts';
import { type Choices, pairwise, type Row } from './pairwise.ts';

/**
 * Where any number or text is an answer: some that an off-by-one or a bound would show itself at.
 */
const tried: Partial<Record<AssumptionName, readonly unknown[]>> = {
  requestIdMaxLength: [255, 64, 65_536],
  sendAtMaxAheadDays: ['unlimited', 1, 365],
  // Slower than 20 s would break SVC-3, which is a rule.
  pollIntervalSeconds: [20, 5, 1],
  sendsPerPoll: ['all', 1, 25],
  failsFrom: [
    ['queued', 'sending', 'sent'],
    [],
    ['queued'],
    ['sending'],
    ['sent'],
    ['queued', 'sending'],
    ['queued', 'sent'],
    ['sending', 'sent'],
  ],
  failureRate: [0, 0.3, 1],
  monthlyQuota: [10_000, 0, 'unlimited'],
  keyFormat: ['smst_', '', 'key~'],
  replyTemplates: [{}],
};

/** Each assumption's answers, its default first. */
export const assumptionChoices: Choices = Object.fromEntries(
  assumptionNames.map((name) => [name, tried[name] ?? assumptionLedger[name].answers]),
);

/** One assumption switched at a time, to each answer that is not its default. */
export function singles(): Row[] {
  return Object.entries(assumptionChoices).flatMap(([name, answers]) =>
    answers.slice(1).map((answer) => ({ [name]: answer })),
  );
}

/** Any two answers together in some row. */
export function pairs(): Row[] {
  return pairwise(assumptionChoices);
}

export interface Judged extends ConformReport {
  /** The file that `--discover` wrote. */
  readonly discovered: Row;
}

/** The whole harness against a sound simulator with these assumptions. */
export async function judge(assumptions: Row, ...argv: string[]): Promise<Judged> {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-assumptions-'));
  const found = join(folder, 'found.json');
  try {
    const start = () => startOwnSimulator({ clock: 'manual', assumptions });
    const report = await runConform([...argv, '--discover', found], start);
    return { ...report, discovered: JSON.parse(await readFile(found, 'utf8')) as Row };
  } catch (error) {
    throw new Error(`${JSON.stringify(assumptions)}: ${String(error)}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * What was reported wrongly: an answer that is not the simulator's, or an untold one without a
 * reason.
 */
export function misjudged(assumptions: Row, judged: Judged): string[] {
  const wrong: string[] = [];
  for (const [name, answer] of Object.entries(assumptions)) {
    const reason = judged.assumptions.untold[name];
    if (reason !== undefined && reason !== '') continue;
    const seen = judged.discovered[name];
    if (JSON.stringify(seen) !== JSON.stringify(answer))
      wrong.push(`${name} is ${JSON.stringify(answer)}, told as ${JSON.stringify(seen)}`);
  }
  return wrong;
}
