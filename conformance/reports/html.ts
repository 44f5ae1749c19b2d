/**
 * The HTML report of conform, referee and explore: what a reader must look at, then every rule with
 * its sentence and its cases, failures first and open. Exchanges are kept as far as the page stays
 * below a megabyte; the JSON report has more of them.
 */
import { comparisonLines } from '../comparison.ts';
import { curlOf, type Exchange, replyText } from '../exchange.ts';
import { findingsOf } from '../outcome.ts';
import { bySubject, isFailure, type Result, verdicts } from '../result.ts';
import { badge, type PageLink, pageHtml } from './page.ts';
import {
  because,
  factsOf,
  type Summary,
  skipReasons,
  escapeMarkup as text,
  verdictName,
} from './summary.ts';
import { testedLine } from './text.ts';

const mostBytes = 1_000_000;
/** Exchanges of a case, tried in turn. */
const amounts = [30, 10, 4, 1, 0];

export function htmlReport(summary: Summary): string {
  let html = '';
  for (const most of amounts) {
    html = render(summary, most);
    if (Buffer.byteLength(html) <= mostBytes) break;
  }
  return html;
}

function render(summary: Summary, most: number): string {
  const { title, baseUrl, startedAt, durationMs, sends, sendsAre, exitCode, results } = summary;
  const places = new Map(results.map((result, at) => [result, `case-${at}`]));
  const placeOf = (result: Result) => places.get(result) ?? '';
  const link = (result: Result): PageLink => ({
    label: result.id,
    tone: verdictName(result.verdict, summary),
    to: placeOf(result),
    note: because(result).slice(0, longestNote),
  });
  const caseOf = (result: Result) => caseHtml(result, placeOf(result), most, summary);
  const list = (kind: Result['kind']) =>
    [...bySubject(results.filter((result) => result.kind === kind))]
      .toSorted(([, a], [, b]) => rankOf(a) - rankOf(b))
      .map(([id, its]) => subjectHtml(id, its, summary, caseOf))
      .join('\n');
  const gaps = list('assumption');
  return pageHtml({
    title,
    facts: [
      baseUrl,
      startedAt,
      `${(durationMs / 1000).toFixed(1)} s`,
      `${sends} ${sendsAre ?? 'sends'}`,
      `exit code ${exitCode}`,
    ],
    warnings: [
      ...(summary.interrupted ? ['Interrupted: these are the results so far.'] : []),
      ...(summary.reachable ? [] : ['The target is not reachable.']),
      ...(summary.comparison === undefined ? [] : comparisonLines(summary.comparison)),
      ...summary.weighed.stale.map((line) => `Stale expectation: ${line}`),
    ],
    counts: verdicts
      .filter((verdict) => summary.counts[verdict] > 0)
      .map((verdict) => {
        const first = results.find((result) => result.verdict === verdict);
        return {
          label: String(summary.counts[verdict]),
          tone: verdictName(verdict, summary),
          ...(first === undefined ? {} : { to: places.get(first) ?? '' }),
        };
      }),
    findings: findingsOf(results, summary.weighed).map(({ results: [first, ...others] }) => ({
      ...link(first),
      also: others.map(link),
    })),
    body: `<h2>Rules</h2>\n<p>${text(testedLine(summary))}</p>\n${list('rule')}
${gaps === '' ? '' : `<h2>Assumptions</h2>\n${gaps}`}
${skippedHtml(summary)}`,
  });
}

const longestNote = 200;

/** A rule or an assumption with its cases, failures first. */
function subjectHtml(
  id: string,
  its: readonly Result[],
  summary: Summary,
  caseOf: (result: Result) => string,
): string {
  const rule = summary.rules.find((one) => one.id === id);
  const verdict = rule?.verdict ?? its[0]?.verdict ?? 'skipped';
  const ordered = its.toSorted((a, b) => rankOf([a]) - rankOf([b]));
  return `<details class="subject" id="${text(id)}"${rankOf(its) < unheard ? ' open' : ''}>
<summary>${badge(verdictName(verdict, summary))} <strong>${text(id)}</strong> <span>${prose(summary.sentenceOf(id))}</span></summary>
${ordered.map(caseOf).join('\n')}
</details>`;
}

const unheard = 2;

/** Failures come first, then notices, then the others in their order. */
function rankOf(its: readonly Result[]): number {
  if (its.some(({ verdict }) => isFailure(verdict))) return 0;
  return its.some(({ verdict }) => verdict === 'notice') ? 1 : unheard;
}

function caseHtml(result: Result, place: string, most: number, summary: Summary): string {
  const rows = factsOf(result, summary).map(
    ([name, value]) => `<dt>${name}</dt><dd>${text(value)}</dd>`,
  );
  const { timeline = [] } = result;
  const lines = timeline.map((line) => `<li>${text(line)}</li>`);
  return `<article id="${place}"><h3>${badge(verdictName(result.verdict, summary))} ${text(result.id)}</h3>
<dl>${rows.join('')}</dl>
${timeline.length === 0 ? '' : `<h4>Timeline</h4><ol class="timeline">${lines.join('')}</ol>`}
${exchangesHtml(result, most)}
</article>`;
}

/** Enough to see what a case does; only a failure needs more. */
const mostOfPassed = 3;

/** Those that prove a failure come first. */
function exchangesHtml(result: Result, most: number): string {
  const { before, broken, exchanges, omitted } = result;
  const proof = [before, broken].filter((one) => one !== undefined);
  const all = [...new Set([...proof, ...exchanges])];
  const amount =
    rankOf([result]) < unheard ? Math.max(most, proof.length) : Math.min(most, mostOfPassed);
  const shown = all.slice(0, amount);
  const left = all.length + omitted - shown.length;
  if (shown.length === 0) return '';
  const more = left > 0 ? `<p>${left} more are left out here.</p>` : '';
  return `<details><summary>${shown.length} exchanges</summary>${shown.map(exchangeHtml).join('\n')}${more}</details>`;
}

const longestBody = 1_200;

function exchangeHtml(exchange: Exchange): string {
  const { method, url, status, durationMs } = exchange;
  return `<h4>${text(method)} ${text(url)} → ${status || 'no reply'} <small>${durationMs} ms</small></h4>
<pre role="group" tabindex="0" aria-label="curl"><code>${text(shortened(curlOf(exchange)))}</code></pre>
<pre role="group" tabindex="0" aria-label="reply">${text(shortened(replyText(exchange)))}</pre>`;
}

function shortened(all: string): string {
  const left = all.length - longestBody;
  if (left <= 0) return all;
  return `${all.slice(0, longestBody / 2)}… (${left} more) …${all.slice(-longestBody / 2)}`;
}

function skippedHtml({ results }: Summary): string {
  const reasons = skipReasons(results);
  if (reasons.length === 0) return '';
  const rows = reasons.map(
    ([why, its]) => `<dt>${text(why)}</dt><dd>${its.map(({ id }) => text(id)).join(', ')}</dd>`,
  );
  return `<h2>Skipped</h2>\n<dl>${rows.join('\n')}</dl>`;
}

/** In the ledger's sentences, code is between back quotes. */
function prose(sentence: string): string {
  return text(sentence).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
