/**
 * Writes the reports of `--report`, and makes the short ones (JSON, TAP, GitHub). In text reports
 * it escapes control characters that the target has sent; HTML, JUnit and JSON reports escape their
 * own.
 */
import { writeFileSync } from 'node:fs';
import type { Report, ReportKind } from '#io/flag-values.ts';
import { foreignJson, foreignTexts } from '#io/foreign-text.ts';
import { htmlReport } from './html.ts';
import { junitReport } from './junit.ts';
import { markdownReport } from './markdown.ts';
import { isFailure, type Result, verdicts } from './result.ts';
import { because, type Summary, verdictName } from './summary.ts';

const makers: Readonly<Record<ReportKind, (summary: Summary) => string>> = {
  junit: junitReport,
  json: jsonReport,
  html: htmlReport,
  tap: (summary) => tapReport(foreignTexts(summary)),
  markdown: (summary) => markdownReport(foreignTexts(summary)),
  github: (summary) => githubReport(foreignTexts(summary)),
};

export interface ReportStreams {
  readonly out: (text: string) => void;
  /** Takes one line without its end. */
  readonly error: (line: string) => void;
}

/**
 * Writes the reports. Returns the exit code of the command: that of the run, or 2 if the run was a
 * success and a report cannot be written. `own`: makers of the caller that replace those of a kind.
 */
export function writeReports(
  reports: readonly Report[],
  summary: Summary,
  { out, error }: ReportStreams,
  own: Partial<typeof makers> = {},
): number {
  let { exitCode } = summary;
  for (const { kind, file } of reports) {
    const content = (own[kind] ?? makers[kind])(summary);
    if (file === undefined) {
      out(kind === 'json' ? foreignJson(content) : content);
      continue;
    }
    try {
      writeFileSync(file, content);
    } catch (failure) {
      const { code = String(failure) } = failure as NodeJS.ErrnoException;
      error(`--report ${kind}=${file}: cannot be written (${code}); name another file`);
      if (exitCode === 0) exitCode = 2;
    }
  }
  return exitCode;
}

/** The whole run for programs. Its schema is `report.schema.json` in this folder. */
function jsonReport(summary: Summary): string {
  const { title: _, observedName: __, sendsAre: ___, sentenceOf, weighed, ...most } = summary;
  const { discovered, results, rules, ...rest } = most;
  const report = {
    format: 'smstwin-conformance/1',
    ...rest,
    rules: rules.map((rule) => ({ ...rule, sentence: sentenceOf(rule.id) })),
    results: results.map((result) => ({
      ...result,
      ...(weighed.expected.has(result.id)
        ? { expectedFailure: weighed.expected.get(result.id) }
        : {}),
    })),
    staleExpectations: weighed.stale,
    assumptions: { answers: discovered.answers, untold: discovered.undetermined },
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** TAP version 14. A case that was not exercised is `not ok`; an expected failure is a TODO. */
function tapReport(summary: Summary): string {
  const lines = ['TAP version 14', `1..${summary.results.length}`];
  for (const [index, result] of summary.results.entries())
    lines.push(...tapLines(result, index + 1, summary));
  if (summary.interrupted) lines.push('Bail out! interrupted');
  return `${lines.join('\n')}\n`;
}

function tapLines(result: Result, number: number, summary: Summary): string[] {
  const reason = summary.weighed.expected.get(result.id);
  const isUntested = result.verdict === 'not_exercised' && result.kind === 'rule';
  const isOk = !isFailure(result.verdict) && !isUntested;
  let directive = '';
  if (reason !== undefined) directive = ` # TODO ${plain(reason)}`;
  else if (result.verdict === 'skipped' || (result.verdict === 'not_exercised' && !isUntested))
    directive = ` # SKIP ${plain(because(result))}`;
  const head = `${isOk ? 'ok' : 'not ok'} ${number} - ${plain(result.id)}${directive}`;
  if (result.verdict === 'passed' || directive !== '') return [head];
  const facts: [string, string | undefined][] = [
    ['verdict', verdictName(result.verdict, summary)],
    ['message', because(result)],
    ['expected', result.expected],
    ['actual', result.actual],
  ];
  // JSON is valid YAML.
  const block = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name}: ${JSON.stringify(value)}`],
  );
  return [head, '  ---', ...block, '  ...'];
}

/** One line in which `#` cannot start a directive. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('\\', '\\\\').replaceAll('#', '\\#');
}

/**
 * Workflow commands: one annotation for each case that did not pass, and a notice with the counts.
 */
function githubReport(summary: Summary): string {
  const lines: string[] = [];
  for (const result of summary.results) {
    const expected = summary.weighed.expected.get(result.id);
    if (isFailure(result.verdict))
      lines.push(
        annotation(
          expected === undefined ? 'error' : 'warning',
          `${result.verdict}: ${result.id}`,
          expected === undefined ? because(result) : `${because(result)} (expected: ${expected})`,
        ),
      );
    else if (result.verdict === 'notice')
      lines.push(annotation('notice', `notice: ${result.id}`, because(result)));
    else if (result.verdict === 'not_exercised' && result.kind === 'rule')
      lines.push(annotation('warning', `not exercised: ${result.id}`, because(result)));
  }
  for (const line of summary.weighed.stale)
    lines.push(annotation('error', 'stale expectation', line));
  const counts = verdicts
    .filter((verdict) => summary.counts[verdict] > 0)
    .map((one) => `${summary.counts[one]} ${verdictName(one, summary).replace('_', ' ')}`);
  lines.push(annotation('notice', summary.title, `${summary.baseUrl}: ${counts.join(', ')}`));
  return `${lines.join('\n')}\n`;
}

function annotation(level: 'error' | 'warning' | 'notice', title: string, text: string): string {
  const data = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = title
    .replaceAll('%', '%25')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A')
    .replaceAll(':', '%3A')
    .replaceAll(',', '%2C');
  return `::${level} title=${property}::${data}`;
}
