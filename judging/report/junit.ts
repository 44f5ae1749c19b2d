/**
 * The JUnit XML report, valid in both common schemas (Ant's and Jenkins'): one suite for each rule.
 * An observation is a passed test case. A case that did not exercise its rule is an error, so that
 * it does not look like a success.
 */
import { secondMs } from '#contract/time.ts';
import { bySubject, type Result } from './result.ts';
import { because, curlOf, escapeMarkup, replyText, rowsOf, type Summary } from './summary.ts';

export function junitReport(summary: Summary): string {
  const suites = bySubject(summary.results);
  // Neither schema allows a time zone here.
  const timestamp = summary.startedAt.slice(0, 19);
  const parts = [...suites].map(([subject, results], id) =>
    suite(subject, results, id, timestamp, summary),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${parts.join('')}</testsuites>\n`;
}

function suite(
  subject: string,
  results: readonly Result[],
  id: number,
  timestamp: string,
  summary: Summary,
): string {
  const kinds = results.map((result) => kindOf(result, summary));
  const count = (kind: string) => kinds.filter((each) => each === kind).length;
  const seconds = results.reduce((sum, { durationMs }) => sum + durationMs, 0) / secondMs;
  const attributes = [
    `name="${escapeMarkup(subject)}"`,
    `package="${packageOf(summary)}"`,
    `id="${id}"`,
    `timestamp="${timestamp}"`,
    'hostname="localhost"',
    `tests="${results.length}"`,
    `failures="${count('failure')}"`,
    `errors="${count('error')}"`,
    `skipped="${count('skipped')}"`,
    `time="${seconds.toFixed(3)}"`,
  ].join(' ');
  const cases = results.map((result) => testCase(result, summary)).join('');
  return `  <testsuite ${attributes}>\n    <properties><property name="holds" value="${escapeMarkup(summary.sentenceOf(subject))}"/></properties>\n${cases}    <system-out/>\n    <system-err/>\n  </testsuite>\n`;
}

function testCase(result: Result, summary: Summary): string {
  const head = `    <testcase name="${escapeMarkup(result.id)}" classname="${packageOf(summary)}.${escapeMarkup(result.subject)}" time="${(result.durationMs / secondMs).toFixed(3)}"`;
  const kind = kindOf(result, summary);
  if (kind === undefined) {
    return result.verdict === 'notice'
      ? `${head}><system-out>${escapeMarkup(`notice: ${because(result)}`)}</system-out></testcase>\n`
      : `${head}/>\n`;
  }
  const reason = summary.weighed.expected.get(result.id);
  const message = reason === undefined ? because(result) : `expected failure: ${reason}`;
  if (kind === 'skipped')
    return `${head}><skipped message="${escapeMarkup(message)}"/></testcase>\n`;
  return `${head}><${kind} message="${escapeMarkup(message)}" type="${result.verdict}">${escapeMarkup(evidence(result, summary))}</${kind}></testcase>\n`;
}

/** What a ticket needs: the rule, what was sent and answered, and a command that repeats it. */
function evidence(result: Result, summary: Summary): string {
  const { subject, timeline = [], before, broken } = result;
  const facts = [['Rule', summary.sentenceOf(subject)], ...rowsOf(result, summary)];
  const lines = facts.map(([name, text]) => `${name}: ${text}`);
  lines.push(...timeline.map((line) => `Time: ${line}`));
  for (const exchange of [before, broken]) {
    if (exchange === undefined) continue;
    const { method, url, requestBody = '' } = exchange;
    lines.push('', `Request: ${method} ${url} ${requestBody}`.trimEnd());
    lines.push(`Reply: ${replyText(exchange)}`, `Again: ${curlOf(exchange)}`);
  }
  return lines.join('\n');
}

function packageOf({ title }: Summary): string {
  return escapeMarkup(title.toLowerCase());
}

/** The element of a test case; undefined if it passed. */
function kindOf(result: Result, summary: Summary): 'failure' | 'error' | 'skipped' | undefined {
  if (summary.weighed.expected.has(result.id)) return 'skipped';
  switch (result.verdict) {
    case 'passed':
    case 'observed':
    case 'notice':
      return undefined;
    case 'failed':
    case 'spelling':
    case 'flaky':
      return 'failure';
    case 'error':
      return 'error';
    case 'not_exercised':
      // An assumption that cannot be determined is not an error.
      return result.kind === 'rule' ? 'error' : 'skipped';
    case 'skipped':
      return 'skipped';
  }
}
