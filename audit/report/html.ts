/**
 * One page with the answer in a sentence, all requests in time with what passed in the learned
 * window, and each statement with its requests.
 */
import { badge, pageHtml, plotScript } from '#judging/report/page.ts';
import { plotHtml } from '#judging/report/plot.ts';
import { escapeMarkup as text } from '#judging/report/summary.ts';
import type { AuditResult } from '../audit.ts';
import type { AuditedExchange } from '../run.ts';
import type { Statement } from '../statement.ts';
import { answerOf, entriesOf, type Reported, shownValue } from './report.ts';

export async function reportHtml({ url, result, differences }: Reported): Promise<string> {
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
      await plotScript(),
    ].join('\n'),
  });
}

/** More rows would hide the others. */
const mostRows = 12;

function section(
  name: string,
  statement: Statement,
  exchanges: readonly AuditedExchange[],
): string {
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

/** The answers in time: how many passed in the learned window, and which were refused. */
function plot({ exchanges, statements }: AuditResult): string {
  const { limit, window_seconds: window } = statements;
  const windowS = window.value;
  const sent = exchanges
    .map(({ sentAtMs, outcome }) => ({ at: sentAtMs / 1_000, isPass: outcome === 'passed' }))
    .sort((a, b) => a.at - b.at);
  const passes = sent.filter(({ isPass }) => isPass);
  const passedBy = (at: number) => passes.filter((pass) => pass.at <= at).length;
  const inWindow = sent.map(({ at }) => passedBy(at) - (windowS ? passedBy(at - windowS) : 0));
  const bound = limit.value;
  const limitLine = { label: 'limit', tone: '--ink', look: 'dashes' } as const;
  return plotHtml({
    label: `Requests that passed ${windowS ? `in the last ${windowS} s` : 'so far'}, and those refused`,
    unit: 'requests',
    xUnit: 'second of the audit',
    x: sent.map(({ at }) => at),
    lines: [
      { label: 'passed', tone: '--good', look: 'steps', values: inWindow },
      ...(bound === null ? [] : [{ ...limitLine, values: sent.map(() => bound) }]),
      {
        label: 'refused',
        tone: '--bad',
        look: 'marks',
        values: sent.map(({ isPass }, index) => (isPass ? null : (inWindow[index] ?? null))),
      },
    ],
  });
}
