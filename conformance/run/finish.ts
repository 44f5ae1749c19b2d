/**
 * Finishes a run, or a reading of recorded traffic: compares results with expectations, writes
 * reports and the files of `--discover` and `--write-expected`, and returns the exit code.
 */
import { sentenceOf } from '#contract/assumptions.ts';
import type { CommandIo } from '#io/flags.ts';
import { foreignText } from '#io/terminal.ts';
import { expectationsOf, type Known, weigh, writeExpectations } from '#judging/report/expected.ts';
import { counts, exitCode, ruleVerdicts, unmet, writeDiscovered } from '#judging/report/outcome.ts';
import { compared, type Run } from '#judging/report/result.ts';
import { because, type Facts } from '#judging/report/summary.ts';
import { textReport } from '#judging/report/text.ts';
import { writeReports } from '#judging/report/write.ts';
import type { ConformOptions } from '../options.ts';

interface Finished {
  readonly run: Run;
  readonly facts: Facts;
  /** All cases that an expectation may name. */
  readonly knownCases: readonly Known[];
}

export function finish(
  { run, facts, knownCases }: Finished,
  options: ConformOptions,
  { out, error: print }: Pick<CommandIo, 'out' | 'error'>,
): number {
  const { results, unreached, isInterrupted: interrupted, isReachable: reachable } = run;
  const error = (line: string) => print(`smstwin conform: ${line}\n`);
  const weighed = weigh(options.expected, results, knownCases);
  const rules = ruleVerdicts(results);
  const summary = {
    title: 'Conformance',
    sentenceOf,
    ...facts,
    exitCode: exitCode(run, weighed, options.require),
    interrupted,
    reachable,
    counts: counts(results),
    rules,
    unmet: unmet(options.require, rules),
    ...(options.compare !== undefined && { comparison: compared(options.compare, results) }),
    results,
    weighed,
  };
  if (unreached === undefined) out(textReport(summary));
  else error(foreignText(unreached));
  const code = writeReports(options.report, summary, { out, error });
  // Without a reachable target there is nothing to discover or expect.
  if (unreached !== undefined) return code;
  if (options.discover !== undefined) writeDiscovered(options.discover, facts.discovered);
  // Traffic may have been recorded on another day.
  const seen = options.traffic === undefined ? `seen on ${facts.startedAt.slice(0, 10)}` : 'seen';
  if (options.writeExpected !== undefined) {
    writeExpectations(
      options.writeExpected,
      expectationsOf(options.expected, results, weighed, (one) => `${seen}: ${because(one)}`),
    );
  }
  return code;
}
