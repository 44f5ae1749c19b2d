/**
 * The HTML report of conform, referee and explore: first the findings, then every rule with its
 * sentence and its cases, failures first and open. To stay below a megabyte, the page leaves out
 * exchanges; the JSON report has more of them.
 */
import { secondMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import type { ReportedExchange } from '../evidence/reply.ts';
import { type Finding, findingsOf } from './outcome.ts';
import { badge, type PageFinding, type PageLink, pageHtml } from './page.ts';
import {
  bySubject,
  comparisonLines,
  isFailure,
  type Result,
  type Verdict,
  verdicts,
} from './result.ts';
import {
  because,
  curlOf,
  escapeMarkup,
  middleCut,
  replyText,
  rowsOf,
  type Summary,
  skipReasons,
  verdictName,
} from './summary.ts';
import { testedLine } from './text.ts';

const mostBytes = 1_000_000;
/** A longer body or reason is cut in its middle. */
const longestText = 1_200;
/** The most exchanges that a case shows: the first amount with which the page is small enough. */
const exchangeAmounts = [30, 10, 4, 1, 0];

export function htmlReport(summary: Summary): string {
  let html = '';
  for (const mostExchanges of exchangeAmounts) {
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
    tone: toneOf(result.verdict, summary),
    to: anchorOf(result),
    note: middleCut(because(result), longestText),
  });
  const caseOf = (result: Result) => caseHtml(result, anchorOf(result), mostExchanges, summary);
  const list = (kind: Result['kind']) =>
    [...bySubject(results.filter((result) => result.kind === kind))]
      .toSorted(([, a], [, b]) => rankOf(a) - rankOf(b))
      .map(([id, ofSubject]) => subjectHtml(id, ofSubject, summary, caseOf))
      .join('\n');
  const assumptions = list('assumption');
  // The findings of a rule share its verdict: the referee's rules are counted, not its findings.
  const bySubjectId = new Map(results.map((result) => [result.subject, result]));
  const rows = isOfReferee(summary) ? [...bySubjectId.values()] : results;
  return pageHtml({
    title,
    facts: [
      baseUrl,
      startedAt,
      `${(durationMs / secondMs).toFixed(1)} s`,
      `${sends} ${sendsAre ?? 'sends'}`,
      `exit code ${exitCode}`,
    ],
    warnings: [
      ...(summary.interrupted ? ['Interrupted: these are the results so far.'] : []),
      ...(summary.reachable ? [] : ['The target is not reachable.']),
      ...(summary.comparison === undefined ? [] : comparisonLines(summary.comparison)),
      ...summary.weighed.stale.map((line) => `Stale expectation: ${line}`),
    ],
    counts: verdicts.flatMap((verdict) => {
      const ofVerdict = rows.filter((result) => result.verdict === verdict);
      const [first] = ofVerdict;
      if (first === undefined) return [];
      const label = String(ofVerdict.length);
      return [{ label, tone: toneOf(verdict, summary), to: anchorOf(first) }];
    }),
    findings: [...grouped(findingsOf(results, summary.weighed), commonRule)].map(
      ([rule, findings]) => findingLink(rule, findings, link),
    ),
    body: `<h2>Rules</h2>\n<p>${escapeMarkup(testedLine(summary))}</p>\n${list('rule')}
${assumptions === '' ? '' : `<h2>Assumptions</h2>\n${assumptions}`}
${skippedHtml(summary)}`,
  });
}

/** Findings of one rule as one link, with their cases below it: those with equal texts together. */
function findingLink(
  rule: string,
  findings: readonly Finding[],
  link: (result: Result) => PageLink,
): PageFinding {
  const all = findings.flatMap(({ results }) => results);
  const [first, ...others] = all as [Result, ...Result[]];
  if (others.length === 0 || rule !== first.subject)
    return { ...link(first), also: others.map(link) };
  const also = [...grouped(all, saying)].map(([text, same]) => {
    const linkOfFirst = link(same[0] as Result);
    const note = middleCut(`${text} (${same.length} times)`, longestText);
    return same.length === 1 ? linkOfFirst : { ...linkOfFirst, note };
  });
  return {
    label: `${rule}: ${counted(all.length, 'finding')}`,
    tone: link(first).tone,
    to: rule,
    also,
  };
}

/** The rule of a finding, or its first case if it shows in cases of several rules. */
function commonRule({ results: [first, ...others] }: Finding): string {
  return others.every(({ subject }) => subject === first.subject) ? first.subject : first.id;
}

/** What a finding says, without its instant. */
function saying(result: Result): string {
  return because(result).replace(/ \(request at [^)]*\)("?)$/, '$1');
}

/** The referee exercises rules, where other reports skip cases. */
function toneOf(verdict: Verdict, summary: Summary): string {
  const isUnexercised = isOfReferee(summary) && verdict === 'skipped';
  return isUnexercised ? 'not_exercised' : verdictName(verdict, summary);
}

/** More findings of the referee about one rule are closed at first. */
const mostFindings = 3;

function isOfReferee({ observedName }: Summary): boolean {
  return observedName !== undefined;
}

/** A rule or an assumption with its cases, failures first. */
function subjectHtml(
  id: string,
  results: readonly Result[],
  summary: Summary,
  caseOf: (result: Result) => string,
): string {
  const rule = summary.rules.find((each) => each.id === id);
  const verdict = rule?.verdict ?? results[0]?.verdict ?? 'skipped';
  const cases = results.toSorted((a, b) => rankOf([a]) - rankOf([b])).map(caseOf);
  const mostShown = isOfReferee(summary) ? mostFindings : cases.length;
  const [shown, others] = [cases.slice(0, mostShown), cases.slice(mostShown)];
  return `<details class="subject" id="${escapeMarkup(id)}"${rankOf(results) < otherRank ? ' open' : ''}>
<summary>${badge(toneOf(verdict, summary))} <strong>${escapeMarkup(id)}</strong> <span>${prose(summary.sentenceOf(id))}</span></summary>
${shown.join('\n')}
${others.length === 0 ? '' : `<details><summary>${others.length} more findings</summary>${others.join('\n')}</details>`}
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
  const rows = rowsOf(result, summary).map(
    ([name, value]) => `<dt>${name}</dt><dd>${escapeMarkup(value)}</dd>`,
  );
  const { timeline = [] } = result;
  const lines = timeline.map((line) => `<li>${escapeMarkup(line)}</li>`);
  return `<article id="${anchor}"><h3>${badge(toneOf(result.verdict, summary))} ${escapeMarkup(result.id)}</h3>
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

function exchangeHtml(exchange: ReportedExchange): string {
  const { method, url, status, durationMs } = exchange;
  return `<h4>${escapeMarkup(method)} ${escapeMarkup(url)} → ${status || 'no reply'} <small>${durationMs.toFixed(2)} ms</small></h4>
<pre role="group" tabindex="0" aria-label="curl"><code>${escapeMarkup(middleCut(curlOf(exchange), longestText))}</code></pre>
<pre role="group" tabindex="0" aria-label="reply">${escapeMarkup(middleCut(replyText(exchange), longestText))}</pre>`;
}

function skippedHtml({ results }: Summary): string {
  const reasons = skipReasons(results);
  if (reasons.length === 0) return '';
  const rows = reasons.map(
    ([why, cases]) =>
      `<dt>${escapeMarkup(why)}</dt><dd>${cases.map(({ id }) => escapeMarkup(id)).join(', ')}</dd>`,
  );
  return `<h2>Skipped</h2>\n<dl>${rows.join('\n')}</dl>`;
}

/** The HTML of a rule's sentence, in which code is between back quotes. */
function prose(sentence: string): string {
  return escapeMarkup(sentence).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
