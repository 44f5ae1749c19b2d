/**
 * The HTML report of conform, referee and explore: first the findings, then every rule with its
 * sentence and its cases, failures first and open. To stay below a megabyte, the page leaves out
 * exchanges; the JSON report has more of them.
 */
import { comparisonLines } from './comparison.ts';
import { findingsOf } from './outcome.ts';
import { badge, type PageLink, pageHtml } from './page.ts';
import { curlOf, type Exchange, replyText } from './reported-exchange.ts';
import { bySubject, isFailure, type Result, verdicts } from './result.ts';
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
/** The most exchanges that a case shows: the first amount with which the page is small enough. */
const amounts = [30, 10, 4, 1, 0];

export function htmlReport(summary: Summary): string {
  let html = '';
  for (const mostExchanges of amounts) {
    html = render(summary, mostExchanges);
    if (Buffer.byteLength(html) <= mostBytes) break;
  }
  return html;
}

function render(summary: Summary, mostExchanges: number): string {
  const { title, baseUrl, startedAt, durationMs, sends, sendsAre, exitCode, results } = summary;
  const anchors = new Map(results.map((result, index) => [result, `case-${index}`]));
  const anchorOf = (result: Result) => anchors.get(result) ?? '';
  const link = (result: Result): PageLink => ({
    label: result.id,
    tone: verdictName(result.verdict, summary),
    to: anchorOf(result),
    note: because(result).slice(0, longestNote),
  });
  const caseOf = (result: Result) => caseHtml(result, anchorOf(result), mostExchanges, summary);
  const list = (kind: Result['kind']) =>
    [...bySubject(results.filter((result) => result.kind === kind))]
      .toSorted(([, a], [, b]) => rankOf(a) - rankOf(b))
      .map(([id, ofSubject]) => subjectHtml(id, ofSubject, summary, caseOf))
      .join('\n');
  const assumptions = list('assumption');
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
          ...(first === undefined ? {} : { to: anchorOf(first) }),
        };
      }),
    findings: findingsOf(results, summary.weighed).map(({ results: [first, ...others] }) => ({
      ...link(first),
      also: others.map(link),
    })),
    body: `<h2>Rules</h2>\n<p>${text(testedLine(summary))}</p>\n${list('rule')}
${assumptions === '' ? '' : `<h2>Assumptions</h2>\n${assumptions}`}
${skippedHtml(summary)}`,
  });
}

const longestNote = 200;

/** A rule or an assumption with its cases, failures first. */
function subjectHtml(
  id: string,
  results: readonly Result[],
  summary: Summary,
  caseOf: (result: Result) => string,
): string {
  const rule = summary.rules.find((each) => each.id === id);
  const verdict = rule?.verdict ?? results[0]?.verdict ?? 'skipped';
  const ordered = results.toSorted((a, b) => rankOf([a]) - rankOf([b]));
  return `<details class="subject" id="${text(id)}"${rankOf(results) < otherRank ? ' open' : ''}>
<summary>${badge(verdictName(verdict, summary))} <strong>${text(id)}</strong> <span>${prose(summary.sentenceOf(id))}</span></summary>
${ordered.map(caseOf).join('\n')}
</details>`;
}

/** The rank of results that are neither failures nor notices. */
const otherRank = 2;

/** Failures come first, then notices, then the others in their order. */
function rankOf(results: readonly Result[]): number {
  if (results.some(({ verdict }) => isFailure(verdict))) return 0;
  return results.some(({ verdict }) => verdict === 'notice') ? 1 : otherRank;
}

function caseHtml(result: Result, anchor: string, mostExchanges: number, summary: Summary): string {
  const rows = factsOf(result, summary).map(
    ([name, value]) => `<dt>${name}</dt><dd>${text(value)}</dd>`,
  );
  const { timeline = [] } = result;
  const lines = timeline.map((line) => `<li>${text(line)}</li>`);
  return `<article id="${anchor}"><h3>${badge(verdictName(result.verdict, summary))} ${text(result.id)}</h3>
<dl>${rows.join('')}</dl>
${timeline.length === 0 ? '' : `<h4>Timeline</h4><ol class="timeline">${lines.join('')}</ol>`}
${exchangesHtml(result, mostExchanges)}
</article>`;
}

/** The exchanges that show what a case does; only a failure or a notice needs more. */
const mostOfOthers = 3;

/** The exchanges of a case. Those that prove a failure come first. */
function exchangesHtml(result: Result, mostExchanges: number): string {
  const { before, broken, exchanges, omitted } = result;
  const proof = [before, broken].filter((one) => one !== undefined);
  const all = [...new Set([...proof, ...exchanges])];
  const isOther = rankOf([result]) === otherRank;
  const amount = isOther
    ? Math.min(mostExchanges, mostOfOthers)
    : Math.max(mostExchanges, proof.length);
  const shown = all.slice(0, amount);
  const leftOut = all.length + omitted - shown.length;
  if (shown.length === 0) return '';
  const more = leftOut > 0 ? `<p>${leftOut} more are left out here.</p>` : '';
  return `<details><summary>${shown.length} exchanges</summary>${shown.map(exchangeHtml).join('\n')}${more}</details>`;
}

const longestBody = 1_200;

function exchangeHtml(exchange: Exchange): string {
  const { method, url, status, durationMs } = exchange;
  return `<h4>${text(method)} ${text(url)} → ${status || 'no reply'} <small>${durationMs} ms</small></h4>
<pre role="group" tabindex="0" aria-label="curl"><code>${text(shortened(curlOf(exchange)))}</code></pre>
<pre role="group" tabindex="0" aria-label="reply">${text(shortened(replyText(exchange)))}</pre>`;
}

/** Leaves out the middle of a long text. */
function shortened(long: string): string {
  const leftOut = long.length - longestBody;
  if (leftOut <= 0) return long;
  return `${long.slice(0, longestBody / 2)}… (${leftOut} more) …${long.slice(-longestBody / 2)}`;
}

function skippedHtml({ results }: Summary): string {
  const reasons = skipReasons(results);
  if (reasons.length === 0) return '';
  const rows = reasons.map(
    ([why, cases]) => `<dt>${text(why)}</dt><dd>${cases.map(({ id }) => text(id)).join(', ')}</dd>`,
  );
  return `<h2>Skipped</h2>\n<dl>${rows.join('\n')}</dl>`;
}

/** The HTML of a rule's sentence, in which code is between back quotes. */
function prose(sentence: string): string {
  return text(sentence).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
