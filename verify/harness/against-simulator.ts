/**
 * Runs the harness against a correct simulator with given assumptions, and expects that it finds
 * nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import {
  type ConformReport,
  failures,
  runConformWithReport,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { judgedAnswers } from '../testkit/examples/examples.ts';
import type { Row } from '../testkit/pairwise.ts';

/** For each answer that is not a default, the assumptions with it alone. */
export function singleAnswers(): Row[] {
  return Object.entries(judgedAnswers).flatMap(([name, answers]) =>
    answers.slice(1).map((answer) => ({ [name]: answer })),
  );
}

/** Runs all cases against a correct simulator with these assumptions. */
export async function runOnSimulator(assumptions: Row, ...argv: string[]): Promise<ConformReport> {
  return runConformWithReport(argv, {
    startOwn: () => startOwnSimulator({ clock: 'manual', assumptions }),
  });
}

/**
 * Expects that no rule fails or stays unexercised, and that each answer is reported correctly.
 * `argv` may select cases.
 */
export async function expectSound(assumptions: Row, ...argv: string[]): Promise<void> {
  const { exitCode, results, assumptions: found } = await runOnSimulator(assumptions, ...argv);
  const isNeverFailing = isDeepStrictEqual(assumptions['failsFrom'], []);
  const unexercised = results.filter(
    ({ verdict, kind, reason }) =>
      kind === 'rule' &&
      verdict === 'not_exercised' &&
      !(isNeverFailing && reason === 'no failed message was seen'),
  );
  // A missing answer needs a reason.
  const misjudged = Object.entries(assumptions).filter(
    ([name, answer]) => !found.untold[name] && !isDeepStrictEqual(found.answers[name], answer),
  );
  const reported = misjudged.map(([name, answer]) => ({ name, answer, as: found.answers[name] }));
  const complaints = [...failures(results), ...unexercised, ...reported];
  expect(complaints, JSON.stringify(assumptions)).toEqual([]);
  // Selected cases exit with 4 if none of them can tell the answer.
  if (argv.length === 0) expect(exitCode).toBe(0);
}
