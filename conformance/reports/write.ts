/**
 * Selects the report for each kind, and writes it. Escapes control characters of the target in text
 * reports; HTML, JUnit and JSON escape their own.
 */
import { writeFileSync } from 'node:fs';
import { foreignJson, foreignTexts } from '../../src/commands/foreign-text.ts';
import type { Report, ReportKind } from '../../src/commands/report-flag.ts';
import { githubReport } from './github.ts';
import { htmlReport } from './html.ts';
import { jsonReport } from './json.ts';
import { junitReport } from './junit.ts';
import { markdownReport } from './markdown.ts';
import type { Summary } from './summary.ts';
import { tapReport } from './tap.ts';

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
 * Returns the exit code of the command: that of the run, or 2 if the run was a success and a report
 * cannot be written. `own`: kinds that the caller renders in its own way.
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
