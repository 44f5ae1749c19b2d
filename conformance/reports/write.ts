/** Selects the report for each kind, and writes it. */
import { writeFileSync } from 'node:fs';
import type { Report, ReportKind } from '../report-flag.ts';
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
  tap: tapReport,
  markdown: markdownReport,
  github: githubReport,
};

/** `own`: kinds that the caller renders in its own way. */
export function writeReports(
  reports: readonly Report[],
  summary: Summary,
  write: (text: string) => void,
  own: Partial<typeof makers> = {},
): void {
  for (const { kind, file } of reports) {
    const content = (own[kind] ?? makers[kind])(summary);
    if (file === undefined) write(content);
    else writeFileSync(file, content);
  }
}
