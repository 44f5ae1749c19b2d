/**
 * Writes the reports of `--report`, and makes the short ones (JSON, GitHub). In text reports
 * it escapes control characters that the target has sent; HTML, JUnit and JSON reports escape their
 * own.
 */
import { CommandError } from '#io/command-error.ts';
import { ownReport, type Report, type ReportKind } from '#io/flag-values.ts';
import { writeOwn } from '#io/own-file.ts';
import { foreignJson, foreignTexts } from '#io/terminal.ts';
import { htmlReport } from './html.ts';
import { junitReport } from './junit.ts';
import { markdownReport } from './markdown.ts';
import { isFailure, type Result, verdicts } from './result.ts';
import { because, type Summary, verdictName } from './summary.ts';

const makers: Readonly<Record<ReportKind, (summary: Summary) => string>> = {
  junit: junitReport,
  json: jsonReport,
  html: htmlReport,
  markdown: (summary) => markdownReport(foreignTexts(summary)),
  github: (summary) => githubReport(foreignTexts(summary)),
};

export interface ReportStreams {
  readonly out: (text: string) => void;
  /** Takes one line without its end. */
  readonly error: (line: string) => void;
}

/**
 * Writes the reports. Returns the exit code of the command: that of the run, or the one of a report
 * that cannot be written if the run was a success. `own`: makers of the caller that replace those
 * of a kind.
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
      writeOwn({ what: `--report ${kind}=${file}`, path: file, kind: ownReport }, content);
    } catch (failure) {
      if (!(failure instanceof CommandError)) throw failure;
      for (const line of failure.lines) error(line);
      exitCode ||= failure.exitCode;
    }
  }
  return exitCode;
}

/** The whole run for programs. Its schema is `report.schema.json` in this folder. */
function jsonReport(summary: Summary): string {
  const { title: _, observedName: __, sendsAre: ___, sentenceOf, weighed, ...others } = summary;
  const { discovered, results, rules, ...rest } = others;
  const textWith = (most: MostExchanges) => {
    const report = {
      format: 'smstwin-conformance/1',
      ...rest,
      rules: rules.map((rule) => ({ ...rule, sentence: sentenceOf(rule.id) })),
      results: results.map((result) => ({
        ...withExchanges(result, isSettled(result) ? most.settled : most.open),
        ...(weighed.expected.has(result.id)
          ? { expectedFailure: weighed.expected.get(result.id) }
          : {}),
      })),
      staleExpectations: weighed.stale,
      assumptions: { answers: discovered.answers, untold: discovered.undetermined },
    };
    return `${JSON.stringify(report, null, 2)}\n`;
  };
  let text = '';
  for (const most of exchangeAmounts) {
    text = textWith(most);
    if (Buffer.byteLength(text) <= longestReportBytes) break;
  }
  return text;
}

/** A report is kept for each week: a longer one shows fewer exchanges. */
const longestReportBytes = 500_000;

/** How many exchanges a report shows of a case. */
interface MostExchanges {
  /** For a case that passed or observed something. */
  readonly settled: number;
  readonly open: number;
}
/** The first amount with which the report is short enough. */
const exchangeAmounts: readonly MostExchanges[] = [
  { settled: 30, open: 30 },
  { settled: 1, open: 30 },
  { settled: 0, open: 30 },
  { settled: 0, open: 8 },
  { settled: 0, open: 2 },
  { settled: 0, open: 0 },
];

function isSettled({ verdict, kind }: Result): boolean {
  return verdict === 'passed' || (verdict === 'observed' && kind === 'assumption');
}

/** The last exchanges of a result: they led to its verdict. */
function withExchanges(result: Result, most: number): Result {
  const left = Math.max(0, result.exchanges.length - most);
  const { exchanges, omitted } = result;
  return { ...result, exchanges: exchanges.slice(left), omitted: omitted + left };
}

/**
 * Workflow commands: one annotation for each case that did not pass, and a notice with the counts.
 */
function githubReport(summary: Summary): string {
  const lines: string[] = [];
  for (const result of summary.results) {
    const expected = summary.weighed.expected.get(result.id);
    if (isFailure(result.verdict)) {
      const level = expected === undefined ? 'error' : 'warning';
      const reason = expected === undefined ? '' : ` (expected: ${expected})`;
      const title = `${result.verdict}: ${result.id}`;
      lines.push(annotation(level, title, `${because(result)}${reason}`));
    } else if (result.verdict === 'notice')
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
  const property = escaped(title).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${level} title=${property}::${escaped(text)}`;
}

function escaped(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
