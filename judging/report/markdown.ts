/** Writes the report for a pull request or a wiki: the rules in a table, then the failures. */
import { comparisonLines, isFailure, verdicts } from './result.ts';
import { because, type Summary, skipReasons, verdictName } from './summary.ts';
import { testedLine } from './text.ts';

export function markdownReport(summary: Summary): string {
  const lines = [
    ...headLines(summary),
    ...ruleLines(summary),
    testedLine(summary),
    '',
    ...(summary.comparison === undefined
      ? []
      : [...comparisonLines(summary.comparison).map((line) => `- ${cell(line)}`), '']),
    ...troubleLines(summary),
    ...skippedLines(summary),
    ...observedLines(summary),
    ...summary.weighed.stale.map((line) => `- Stale expectation: ${cell(line)}`),
  ];
  return `${lines.join('\n')}\n`;
}

function headLines(summary: Summary): string[] {
  const { title, baseUrl, startedAt, sends, sendsAre = 'sends', exitCode } = summary;
  return [
    `# ${title}`,
    '',
    `Target: ${cell(baseUrl)} · ${startedAt} · ${sends} ${sendsAre} · exit code ${exitCode}`,
    '',
    `| ${verdicts.map((verdict) => verdictName(verdict, summary)).join(' | ')} |`,
    `|${verdicts.map(() => '---:').join('|')}|`,
    `| ${verdicts.map((verdict) => summary.counts[verdict]).join(' | ')} |`,
    '',
  ];
}

function ruleLines(summary: Summary): string[] {
  const rows = summary.rules.map(({ id, verdict, passed, cases }) => {
    const sentence = summary.sentenceOf(id).replaceAll('|', '\\|');
    return `| ${id} | ${verdictName(verdict, summary)} | ${passed} of ${cases} | ${sentence} |`;
  });
  const head = ['| rule | verdict | cases passed | what holds |', '|---|---|---:|---|'];
  return ['## Rules', '', ...head, ...rows, ''];
}

function troubleLines({ results, weighed }: Summary): string[] {
  const troubled = [
    ...results.filter(({ verdict }) => verdict === 'notice' || isFailure(verdict)),
    ...results.filter(({ verdict, kind }) => verdict === 'not_exercised' && kind === 'rule'),
  ];
  if (troubled.length === 0) return [];
  const rows = troubled.map((result) => {
    const reason = weighed.expected.get(result.id);
    const note = reason === undefined ? '' : ` (expected: ${reason})`;
    return `| ${cell(result.id)} | ${result.verdict} | ${cell(because(result) + note)} |`;
  });
  const head = ['| case | verdict | why |', '|---|---|---|'];
  return ['## Not passed, and notices', '', ...head, ...rows, ''];
}

function skippedLines({ results }: Summary): string[] {
  const rows = skipReasons(results).map(
    ([why, skipped]) => `- ${cell(why)}: ${skipped.map(({ id }) => id).join(', ')}`,
  );
  return rows.length === 0 ? [] : ['## Skipped', '', ...rows, ''];
}

function observedLines({ discovered }: Summary): string[] {
  const rows = Object.entries(discovered.answers).map(
    ([name, answer]) => `| ${name} | ${cell(JSON.stringify(answer))} |`,
  );
  const head = ['| assumption | answer |', '|---|---|'];
  return rows.length === 0 ? [] : ['## Observed', '', ...head, ...rows, ''];
}

/** Escapes text for a table cell, so that it cannot become markup. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\\`*_{}[\]<>|]/g, '\\$&')
    .trim();
}
