/**
 * The HTML report of an audit: the answer in a sentence, a plot of all requests over time, and each
 * statement with the requests that show it.
 */
import { pageHtml, plotScript } from '#judging/report/page.ts';
import { plotHtml } from '#judging/report/plot.ts';
import { escapeMarkup } from '#judging/report/summary.ts';
import type { AuditResult } from '../audit.ts';
import type { AuditedExchange } from '../run.ts';
import type { Statement } from '../statement.ts';
import { answerOf, endOf, entriesOf, type Reported, shownValue } from './report.ts';

export async function reportHtml({ url, result, differences }: Reported): Promise<string> {
  return pageHtml({
    title: 'Audit',
    facts: [url, endOf(result)],
    warnings: [answerOf(result)],
    counts: [],
    findings: differences.map((label) => ({ label, tone: 'failed' })),
    body: [
      plot(result),
      '<h2>Statements</h2>',
      ...entriesOf(result).map(([name, each]) => section(name, each, result.exchanges)),
      await plotScript(),
    ].join('\n'),
  });
}

function section(
  name: string,
  statement: Statement,
  exchanges: readonly AuditedExchange[],
): string {
  const { certainty, sentence, exchanges: numbers } = statement;
  const [id, value, says] = [name, shownValue(statement), sentence].map(escapeMarkup);
  const tone = certainty === 'certain' ? 'met' : 'skipped';
  const mark = `<span class="badge ${tone}">${certainty}</span>`;
  return `<section class="subject" id="${id}"><h3>${id}: ${value} ${mark}</h3>
<p>${says}</p>${requestsHtml(numbers, exchanges)}</section>`;
}

const mostRows = 12;

/** The requests of a statement, closed at first. Empty if it has none. */
function requestsHtml(numbers: readonly number[], exchanges: readonly AuditedExchange[]): string {
  if (numbers.length === 0) return '';
  const lines = numbers
    .slice(0, mostRows)
    .flatMap((number) => exchanges[number - 1] ?? [])
    .map(
      ({ number, sentAtMs, status, caller, path, headers }) =>
        `#${number}  +${(sentAtMs / 1_000).toFixed(3)} s  ${status}  ${caller}  ${path}  ${headers['retry-after'] ?? ''}`,
    );
  const more = numbers.length > mostRows ? `\n… ${numbers.length - mostRows} more` : '';
  return `<details><summary>requests</summary><pre class="columns">${escapeMarkup(lines.join('\n') + more)}</pre></details>`;
}

/** The answers in time: how many passed in the learned window, and which were refused. */
function plot({ exchanges, statements }: AuditResult): string {
  const limit = statements.limit.value;
  const windowSeconds = statements.window_seconds.value;
  const sent = exchanges
    .map(({ sentAtMs, outcome }) => ({ at: sentAtMs / 1_000, isPass: outcome === 'passed' }))
    .sort((a, b) => a.at - b.at);
  const passed = passedInWindow(sent, windowSeconds ?? Number.POSITIVE_INFINITY);
  const refused = sent.map(({ isPass }, index) => (isPass ? null : (passed[index] ?? null)));
  const limitLine = { label: 'limit', tone: '--ink', look: 'dashes' } as const;
  return plotHtml({
    label: `Requests that passed ${windowSeconds ? `in the last ${windowSeconds} s` : 'so far'}, and those refused`,
    unit: 'requests',
    xUnit: 'second of the audit',
    x: sent.map(({ at }) => at),
    lines: [
      { label: 'passed', tone: '--good', look: 'steps', values: passed },
      ...(limit === null ? [] : [{ ...limitLine, values: sent.map(() => limit) }]),
      { label: 'refused', tone: '--bad', look: 'marks', values: refused },
    ],
  });
}

/** How many requests had passed in the window that ends at each request. */
function passedInWindow(
  sent: readonly { readonly at: number; readonly isPass: boolean }[],
  windowSeconds: number,
): number[] {
  const passes = sent.filter(({ isPass }) => isPass);
  return sent.map(
    (end) => passes.filter(({ at }) => at <= end.at && at > end.at - windowSeconds).length,
  );
}
