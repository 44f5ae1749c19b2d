/**
 * The sets of assumptions that the harness is tested with, and its results on a simulator that uses
 * them.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'vitest';
import {
  type ConformReport,
  failures,
  runConform,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { judgedAnswers } from '../testkit/examples/examples.ts';
import type { Row } from '../testkit/pairwise.ts';

/** One switched assumption at a time, with each answer other than its default. */
export function singles(): Row[] {
  return Object.entries(judgedAnswers).flatMap(([name, answers]) =>
    answers.slice(1).map((answer) => ({ [name]: answer })),
  );
}

export interface Judged extends ConformReport {
  /** The file that `--discover` wrote. */
  readonly discovered: Row;
}

/** Runs all cases against a correct simulator with these assumptions. */
export async function judge(assumptions: Row, ...argv: string[]): Promise<Judged> {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-assumptions-'));
  const discoveredFile = join(folder, 'found.json');
  try {
    const startOwn = () => startOwnSimulator({ clock: 'manual', assumptions });
    const report = await runConform([...argv, '--discover', discoveredFile], { startOwn });
    return { ...report, discovered: JSON.parse(await readFile(discoveredFile, 'utf8')) as Row };
  } catch (error) {
    throw new Error(`${JSON.stringify(assumptions)}: ${String(error)}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Expects that no rule fails or stays unexercised, and that each answer is reported correctly. */
export async function expectSound(assumptions: Row): Promise<void> {
  const judged = await judge(assumptions);
  const unexercised = judged.results.filter(
    ({ verdict, kind }) => kind === 'rule' && verdict === 'not_exercised',
  );
  const complaints = [
    ...[...failures(judged.results), ...unexercised],
    ...misjudged(assumptions, judged),
  ];
  expect(complaints, JSON.stringify(assumptions)).toEqual([]);
  expect(judged.exitCode).toBe(0);
}

/**
 * Wrong observations: an answer other than the simulator's, or a missing answer without a reason.
 */
function misjudged(assumptions: Row, judged: Judged): string[] {
  const wrong: string[] = [];
  for (const [name, answer] of Object.entries(assumptions)) {
    const reason = judged.assumptions.untold[name];
    if (reason !== undefined && reason !== '') continue;
    const reported = judged.discovered[name];
    if (JSON.stringify(reported) !== JSON.stringify(answer))
      wrong.push(`${name} is ${JSON.stringify(answer)}, reported as ${JSON.stringify(reported)}`);
  }
  return wrong;
}
