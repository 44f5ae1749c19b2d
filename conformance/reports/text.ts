/** For people at a terminal: a line as each case ends, then a summary of failures. */

import { foreignTexts } from '../../src/commands/foreign-text.ts';
import type { Exchange } from '../exchange.ts';
import { isFailure, type Result, verdicts } from '../result.ts';
import { because, type Summary } from './summary.ts';

export function progressLine(judged: Result, done: number, total: number): string {
  const result = foreignTexts(judged);
  const share = `${String(done).padStart(String(total).length)}/${total}`;
  const why = result.verdict === 'passed' ? '' : `  ${because(result).slice(0, 160)}`;
  return `${share}  ${result.verdict.padEnd(13)}  ${result.id}${why}\n`;
}

export function textReport(judged: Summary): string {
  const summary = foreignTexts(judged);
  const lines: string[] = [''];
  const { weighed } = summary;
  for (const result of summary.results) {
    if (!isFailure(result.verdict) || weighed.expected.has(result.id)) continue;
    lines.push(`${result.verdict.toUpperCase()}  ${result.id}`);
    lines.push(`  Rule      ${summary.sentenceOf(result.subject)}`);
    lines.push(`  Sends     ${result.sends}`);
    if (result.demands !== undefined) lines.push(`  Demands   ${result.demands}`);
    if (result.expected !== undefined) lines.push(`  Expected  ${result.expected}`);
    if (result.actual !== undefined) lines.push(`  Actual    ${result.actual}`);
    if (result.broken !== undefined) lines.push(`  Request   ${requestLine(result.broken)}`);
    if (result.reason !== undefined) lines.push(`  Reason    ${result.reason}`);
    lines.push('');
  }
  for (const [title, verdict] of [
    ['Not exercised', 'not_exercised'],
    ['Skipped', 'skipped'],
  ] as const) {
    const its = summary.results.filter((one) => one.verdict === verdict && one.kind === 'rule');
    if (its.length === 0) continue;
    lines.push(`${title}:`, ...its.map((one) => `  ${one.id}: ${because(one)}`), '');
  }
  for (const [id, reason] of weighed.expected) lines.push(`Expected to fail: ${id} (${reason})`);
  for (const line of weighed.stale) lines.push(`Stale expectation: ${line}`);
  const untold = Object.entries(summary.discovered.untold);
  if (untold.length > 0)
    lines.push(
      'Could not be determined:',
      ...untold.map(([name, why]) => `  ${name}: ${why.split('\n')[0]}`),
      '',
    );
  const passed = summary.rules.filter(({ verdict }) => verdict === 'passed').length;
  lines.push(
    `${passed} of ${summary.rules.length} rules passed. Cases: ${verdicts
      .filter((verdict) => summary.counts[verdict] > 0)
      .map((verdict) => `${summary.counts[verdict]} ${verdict.replace('_', ' ')}`)
      .join(', ')}.`,
    `${summary.baseUrl}: ${summary.sends} sends, ${summary.throttled} 429s, ${(summary.durationMs / 1000).toFixed(1)} s.`,
  );
  for (const [failure, times] of Object.entries(summary.interruptions))
    lines.push(
      `The connection broke ${times} times (${failure}) and was retried; this counts against no rule.`,
    );
  if (!summary.reachable) lines.push(`${summary.baseUrl} is not reachable.`);
  if (summary.interrupted) lines.push('Interrupted: these are the results so far.');
  return `${lines.join('\n')}\n`;
}

const longestRequest = 300;

/** The request in one line, because its content explains a broken rule. */
function requestLine({ method, url, requestBody = '' }: Exchange): string {
  const body = requestBody.length > longestRequest ? middleCut(requestBody) : requestBody;
  return `${method} ${pathOf(url)} ${body}`.trimEnd();
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}

function middleCut(text: string): string {
  const left = text.length - longestRequest;
  return `${text.slice(0, longestRequest / 2)}… (${left} more) …${text.slice(-longestRequest / 2)}`;
}
