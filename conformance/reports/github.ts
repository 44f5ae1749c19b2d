/**
 * Workflow commands: one annotation for each case that did not pass, and a notice with the counts.
 */
import { isFailure, verdicts } from '../result.ts';
import { because, type Summary, verdictName } from './summary.ts';

export function githubReport(summary: Summary): string {
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
