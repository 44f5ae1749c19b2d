/** For a pull request or a wiki: the rules in a table, then the failures. */

import { comparisonLines } from '../comparison.ts';
import { isFailure, type Verdict, verdicts } from '../result.ts';
import { because, type Summary, skipReasons, verdictName } from './summary.ts';
import { testedLine } from './text.ts';

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
  lines.push(testedLine(summary), '');
  if (summary.comparison !== undefined)
    lines.push(...comparisonLines(summary.comparison).map((line) => `- ${cell(line)}`), '');
  const heard = (verdict: Verdict) => verdict === 'notice' || isFailure(verdict);
  const troubled = [
    ...summary.results.filter(({ verdict }) => heard(verdict)),
    ...summary.results.filter(
      ({ verdict, kind }) => verdict === 'not_exercised' && kind === 'rule',
    ),
  ];
  if (troubled.length > 0) {
    lines.push('## Not passed, and notices', '', '| case | verdict | why |', '|---|---|---|');
    for (const result of troubled) {
      const reason = summary.weighed.expected.get(result.id);
      const note = reason === undefined ? '' : ` (expected: ${reason})`;
      lines.push(`| ${cell(result.id)} | ${result.verdict} | ${cell(because(result) + note)} |`);
    }
    lines.push('');
  }
  const skipped = skipReasons(summary.results);
  if (skipped.length > 0) lines.push('## Skipped', '');
  for (const [why, its] of skipped)
    lines.push(`- ${cell(why)}: ${its.map(({ id }) => id).join(', ')}`);
  if (skipped.length > 0) lines.push('');
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
