/** For a pull request or a wiki: the rules in a table, then the failures. */

import { isFailure, verdicts } from '../result.ts';
import { because, type Summary, verdictName } from './summary.ts';

export function markdownReport(summary: Summary): string {
  const lines = [
    `# ${summary.title}`,
    '',
    `Target: ${cell(summary.baseUrl)} · ${summary.startedAt} · ${summary.sends} ${summary.sendsAre ?? 'sends'} · exit code ${summary.exitCode}`,
    '',
    `| ${verdicts.map((verdict) => verdictName(verdict, summary)).join(' | ')} |`,
    `|${verdicts.map(() => '---:').join('|')}|`,
    `| ${verdicts.map((verdict) => summary.counts[verdict]).join(' | ')} |`,
    '',
    '## Rules',
    '',
    '| rule | verdict | cases passed | what holds |',
    '|---|---|---:|---|',
    ...summary.rules.map(
      ({ id, verdict, passed, cases }) =>
        `| ${id} | ${verdictName(verdict, summary)} | ${passed} of ${cases} | ${summary.sentenceOf(id).replaceAll('|', '\\|')} |`,
    ),
    '',
  ];
  const troubled = summary.results.filter(
    ({ verdict, kind }) => isFailure(verdict) || (verdict === 'not_exercised' && kind === 'rule'),
  );
  if (troubled.length > 0) {
    lines.push('## Not passed', '', '| case | verdict | why |', '|---|---|---|');
    for (const result of troubled) {
      const reason = summary.weighed.expected.get(result.id);
      const note = reason === undefined ? '' : ` (expected: ${reason})`;
      lines.push(`| ${cell(result.id)} | ${result.verdict} | ${cell(because(result) + note)} |`);
    }
    lines.push('');
  }
  const skipped = summary.results.filter(({ verdict }) => verdict === 'skipped');
  if (skipped.length > 0)
    lines.push('## Skipped', '', ...skipped.map((one) => `- ${one.id}: ${cell(because(one))}`), '');
  const seen = Object.entries(summary.discovered.answers);
  if (seen.length > 0)
    lines.push(
      '## Observed',
      '',
      '| assumption | answer |',
      '|---|---|',
      ...seen.map(([name, answer]) => `| ${name} | ${cell(JSON.stringify(answer))} |`),
      '',
    );
  for (const line of summary.weighed.stale) lines.push(`- Stale expectation: ${cell(line)}`);
  return `${lines.join('\n')}\n`;
}

/** Escapes text for a table cell, so that it cannot become markup. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\\`*_{}[\]<>|]/g, '\\$&')
    .trim();
}
