/** The report for people at a terminal: a line as each case ends, then a summary of failures. */
import { secondMs } from '#contract/time.ts';
import { counted, foreignTexts } from '#io/terminal.ts';
import type { ReportedExchange } from '../evidence/reply.ts';
import { type Finding, findingsOf, untested } from './outcome.ts';
import { comparisonLines, type Result, verdicts } from './result.ts';
import { because, middleCut, rowsOf, type Summary, skipReasons } from './summary.ts';

/** A longer reason is cut in its middle, so that a line of progress stays one. */
const longestReason = 160;
/** That of the longest verdict, `not_exercised`. */
const verdictWidth = 13;
/** A longer body is cut in its middle. */
const longestBody = 300;

export function progressLine(judged: Result, done: number, total: number): string {
  const result = foreignTexts(judged);
  const share = `${String(done).padStart(String(total).length)}/${total}`;
  const why = result.verdict === 'passed' ? '' : `  ${middleCut(because(result), longestReason)}`;
  return `${share}  ${result.verdict.padEnd(verdictWidth)}  ${result.id}${why}\n`;
}

export function textReport(judged: Summary): string {
  const summary = foreignTexts(judged);
  const { weighed } = summary;
  const unexercised = summary.results
    .filter(({ verdict, kind }) => verdict === 'not_exercised' && kind === 'rule')
    .map((result) => `${result.id}: ${because(result)}`);
  // Each skipped case has had a line of its own. Here they are grouped by what they need.
  const skipped = skipReasons(summary.results).map(
    ([why, cases]) => `${counted(cases.length, 'case')}: ${why}`,
  );
  const undetermined = Object.entries(summary.discovered.undetermined).map(
    ([name, why]) => `${name}: ${why.split('\n')[0]}`,
  );
  const lines = [
    '',
    ...findingsOf(summary.results, weighed).flatMap((finding) => findingLines(finding, summary)),
    ...section('Not exercised', unexercised),
    ...section('Skipped', skipped),
    ...[...weighed.expected].map(([id, reason]) => `Expected to fail: ${id} (${reason})`),
    ...weighed.stale.map((line) => `Stale expectation: ${line}`),
    ...section('Could not be determined', undetermined),
  ];
  if (summary.comparison !== undefined) lines.push(...comparisonLines(summary.comparison), '');
  lines.push(countsLine(summary), costLine(summary));
  for (const [failure, times] of Object.entries(summary.interruptions)) {
    const often = counted(times, 'time');
    lines.push(`The connection broke ${often} (${failure}); alone, this counts against no rule.`);
  }
  if (!summary.reachable) lines.push(`${summary.baseUrl} is not reachable.`);
  if (summary.interrupted) lines.push('Interrupted: these are the results so far.');
  lines.push(testedLine(summary));
  return `${lines.join('\n')}\n`;
}

function countsLine({ rules, counts }: Summary): string {
  const passed = rules.filter(({ verdict }) => verdict === 'passed').length;
  const cases = verdicts
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${verdict.replace('_', ' ')}`);
  return `${passed} of ${rules.length} rules passed. Cases: ${cases.join(', ')}.`;
}

function costLine({ baseUrl, sends, sendsAre = 'sends', throttled, ...facts }: Summary): string {
  const seconds = (facts.durationMs / secondMs).toFixed(1);
  const seed = facts.seed === undefined ? '' : `, seed ${facts.seed}`;
  return `${baseUrl}: ${sends} ${sendsAre}, ${throttled} 429s, ${seconds} s${seed}.`;
}

/** A titled list with an empty line after it; nothing if there is nothing to list. */
function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`), ''];
}

/** The last line: which rules were not tested, whatever the other verdicts say. */
export function testedLine({ rules, unmet = [] }: Pick<Summary, 'rules' | 'unmet'>): string {
  if (unmet.length > 0) return `Required and not tested: ${unmet.join(', ')}.`;
  const open = untested(rules);
  return open.length === 0
    ? `Every rule of this run was tested (${rules.length}).`
    : `Not tested: ${counted(open.length, 'rule')} of ${rules.length}: ${open.join(', ')}.`;
}

function findingLines({ verdict, results: [result, ...others] }: Finding, summary: Summary) {
  const also =
    others.length > 0 ? ` and ${counted(others.length, 'more case')} of the same cause` : '';
  const lines = [`${verdict.toUpperCase()}  ${result.id}${also}`];
  const add = (name: string, text: string) => lines.push(`  ${name.padEnd(9)} ${text}`);
  const rule = summary.sentenceOf(result.subject);
  if (rule !== '') add('Rule', rule);
  for (const [name, text] of rowsOf(result, summary)) add(name, text);
  if (result.broken !== undefined) add('Request', requestLine(result.broken));
  for (const line of result.timeline ?? []) add('Time', line);
  for (const other of others) add('Also', `${other.id}: ${because(other)}`);
  return [...lines, ''];
}

/** The request in one line, because its content explains a broken rule. */
function requestLine({ method, url, requestBody = '' }: ReportedExchange): string {
  return `${method} ${pathOf(url)} ${middleCut(requestBody, longestBody)}`.trimEnd();
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}
