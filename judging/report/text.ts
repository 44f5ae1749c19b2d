/**
 * The report for people at a terminal: a line as each case ends, then a summary of failures. Also
 * the texts of a request and its reply, which other reports show.
 */
import { secondMs } from '#contract/time.ts';
import { counted, foreignTexts } from '#io/terminal.ts';
import type { ReportedExchange } from '../evidence/reply.ts';
import { type Finding, findingsOf, untested } from './outcome.ts';
import { comparisonLines, type Result, verdicts } from './result.ts';
import { because, factsOf, middleCut, type Summary, skipReasons } from './summary.ts';

export function progressLine(judged: Result, done: number, total: number): string {
  const result = foreignTexts(judged);
  const share = `${String(done).padStart(String(total).length)}/${total}`;
  const reason = because(result);
  const cut = reason.length > 160 ? `${reason.slice(0, 160)}…` : reason;
  const why = result.verdict === 'passed' ? '' : `  ${cut}`;
  return `${share}  ${result.verdict.padEnd(13)}  ${result.id}${why}\n`;
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
  const passed = summary.rules.filter(({ verdict }) => verdict === 'passed').length;
  lines.push(
    `${passed} of ${summary.rules.length} rules passed. Cases: ${verdicts
      .filter((verdict) => summary.counts[verdict] > 0)
      .map((verdict) => `${summary.counts[verdict]} ${verdict.replace('_', ' ')}`)
      .join(', ')}.`,
    `${summary.baseUrl}: ${summary.sends} ${summary.sendsAre ?? 'sends'}, ${summary.throttled} 429s, ${(summary.durationMs / secondMs).toFixed(1)} s${summary.seed === undefined ? '' : `, seed ${summary.seed}`}.`,
  );
  for (const [failure, times] of Object.entries(summary.interruptions))
    lines.push(`The connection broke ${times} times (${failure}); this counts against no rule.`);
  if (!summary.reachable) lines.push(`${summary.baseUrl} is not reachable.`);
  if (summary.interrupted) lines.push('Interrupted: these are the results so far.');
  lines.push(testedLine(summary));
  return `${lines.join('\n')}\n`;
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
  for (const [name, text] of factsOf(result, summary)) add(name, text);
  if (result.broken !== undefined) add('Request', requestLine(result.broken));
  for (const line of result.timeline ?? []) add('Time', line);
  for (const other of others) add('Also', `${other.id}: ${because(other)}`);
  return [...lines, ''];
}

const longestRequest = 300;

/** The request in one line, because its content explains a broken rule. */
function requestLine({ method, url, requestBody = '' }: ReportedExchange): string {
  return `${method} ${pathOf(url)} ${middleCut(requestBody, longestRequest)}`.trimEnd();
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}

/** The status, headers and body of the reply, as they came. */
export function replyText({ failure, status, replyHeaders, replyBody }: ReportedExchange): string {
  if (failure !== undefined) return `no reply: ${failure}`;
  const headers = Object.entries(replyHeaders).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${status}`, ...headers, '', replyBody].join('\n');
}

/** The request as a shell command that reads the key from the environment. */
export function curlOf(exchange: ReportedExchange): string {
  const parts = ['curl -i'];
  if (exchange.method !== 'GET') parts.push(`-X ${exchange.method}`);
  parts.push(quoted(exchange.url));
  for (const [name, value] of Object.entries(exchange.requestHeaders)) {
    if (name !== 'authorization') parts.push(`-H ${quoted(`${name}: ${value}`)}`);
    else if (value.startsWith('Bearer ')) parts.push('-H "Authorization: Bearer $SMSTWIN_API_KEY"');
    else parts.push(`-H ${quoted(`Authorization: ${value}`)}`);
  }
  if (exchange.requestBody !== undefined)
    parts.push(`--data-binary ${quoted(exchange.requestBody)}`);
  return parts.join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
