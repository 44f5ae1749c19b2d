/**
 * One page with the answer in a sentence, all requests in time with the learned windows over them,
 * and each statement with its requests.
 */
import { badge, pageHtml } from '#judging/report/page.ts';
import { escapeMarkup as text } from '#judging/report/summary.ts';
import type { AuditResult } from '../audit.ts';
import type { Exchange } from '../exchange.ts';
import type { Statement } from '../statement.ts';
import { answerOf, entriesOf, type Reported, shownValue } from './report.ts';

export function reportHtml({ url, result, differences }: Reported): string {
  const { requests, seconds } = result;
  return pageHtml({
    title: 'Audit',
    facts: [url, `${requests} requests in ${Math.round(seconds)} s`],
    warnings: [answerOf(result)],
    counts: [],
    findings: differences.map((label) => ({ label, tone: 'failed' })),
    body: [
      plot(result),
      '<h2>Statements</h2>',
      ...entriesOf(result).map(([name, each]) => section(name, each, result.exchanges)),
    ].join('\n'),
  });
}

/** More rows would hide the others. */
const mostRows = 12;

function section(name: string, statement: Statement, exchanges: readonly Exchange[]): string {
  const { certainty, sentence, exchanges: numbers } = statement;
  const rows = numbers.slice(0, mostRows).flatMap((number) => exchanges[number - 1] ?? []);
  const lines = rows.map(
    ({ number, sentAtMs, status, caller, path, headers }) =>
      `#${number}  +${(sentAtMs / 1_000).toFixed(3)} s  ${status}  ${caller}  ${path}  ${headers['retry-after'] ?? ''}`,
  );
  const more = numbers.length > mostRows ? `\n… ${numbers.length - mostRows} more` : '';
  const shown =
    lines.length === 0
      ? ''
      : `<details><summary>requests</summary><pre class="columns">${text(lines.join('\n') + more)}</pre></details>`;
  const tone = certainty === 'certain' ? 'passed' : 'skipped';
  return `<section class="subject" id="${text(name)}"><h3>${text(name)}: ${text(shownValue(statement))} ${badge(tone === 'passed' ? 'met' : tone)}</h3>
<p>${text(certainty)}: ${text(sentence)}</p>${shown}</section>`;
}

const width = 900;
const height = 150;
const left = 90;
const bottom = 40;

/** A mark for each request: passes above, refusals below, and a band for every second window. */
function plot({ exchanges, statements }: AuditResult): string {
  const last = Math.max(1, ...exchanges.map(({ answeredAtMs }) => answeredAtMs));
  const x = (ms: number) => (left + (ms / last) * (width - left - 20)).toFixed(1);
  const windowMs = (statements.window_seconds.value ?? 0) * 1_000;
  const starts = windowMs === 0 ? [] : windowsIn(exchanges, windowMs);
  const bands = starts.map(
    (start) =>
      `<rect class="observed" x="${x(start)}" y="10" width="${Math.max(1, (windowMs / last) * (width - left - 20)).toFixed(1)}" height="${height - bottom - 10}" fill="currentColor" opacity="0.12"/>`,
  );
  const marks = exchanges.map(({ sentAtMs, outcome }) => {
    const y = outcome === 'passed' ? 20 : 70;
    const tone = outcome === 'passed' ? 'passed' : 'failed';
    return `<path class="${tone}" d="M${x(sentAtMs)} ${y}v30"/>`;
  });
  const label = 'Requests in time, and the learned windows';
  return `<figure><figcaption>${label} <span class="passed">■ passed</span> <span class="failed">■ refused</span></figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<text x="${left - 8}" y="40" text-anchor="end">passed</text><text x="${left - 8}" y="90" text-anchor="end">refused</text>
${bands.join('')}${marks.join('')}
<text x="${left}" y="${height - 8}">0 s</text><text x="${width - 20}" y="${height - 8}" text-anchor="end">${(last / 1_000).toFixed(1)} s</text>
</svg></figure>`;
}

/** A window from each first pass that lies in no earlier one. */
function windowsIn(exchanges: readonly Exchange[], windowMs: number): readonly number[] {
  const starts: number[] = [];
  for (const { sentAtMs, outcome } of exchanges) {
    const isCovered = sentAtMs < (starts.at(-1) ?? Number.NEGATIVE_INFINITY) + windowMs;
    if (outcome === 'passed' && !isCovered) starts.push(sentAtMs);
  }
  return starts;
}
