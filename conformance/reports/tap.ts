/** TAP version 14. A case that was not exercised is `not ok`; an expected failure is a TODO. */
import { isFailure, type Result } from '../result.ts';
import { because, type Summary, verdictName } from './summary.ts';

export function tapReport(summary: Summary): string {
  const lines = ['TAP version 14', `1..${summary.results.length}`];
  for (const [index, result] of summary.results.entries())
    lines.push(...test(result, index + 1, summary));
  if (summary.interrupted) lines.push('Bail out! interrupted');
  return `${lines.join('\n')}\n`;
}

function test(result: Result, number: number, summary: Summary): string[] {
  const reason = summary.weighed.expected.get(result.id);
  const unexercised = result.verdict === 'not_exercised' && result.kind === 'rule';
  const ok = !isFailure(result.verdict) && !unexercised;
  let directive = '';
  if (reason !== undefined) directive = ` # TODO ${plain(reason)}`;
  else if (result.verdict === 'skipped' || (result.verdict === 'not_exercised' && !unexercised))
    directive = ` # SKIP ${plain(because(result))}`;
  const head = `${ok ? 'ok' : 'not ok'} ${number} - ${plain(result.id)}${directive}`;
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
