/**
 * The reports of an audit: JSON for programs, text and Markdown for people, and assumptions for
 * `serve`. Text and Markdown also list what differs from `--expect`.
 */
import type { AuditResult } from '../audit.ts';
import { isSameSubject, type StopReason } from '../run.ts';
import type { AlgorithmValue, Statement, Statements } from '../statement.ts';

export interface Reported {
  readonly url: string;
  readonly result: AuditResult;
  /** Statements that differ from `--expect`, each with what was expected. */
  readonly differences: readonly string[];
}

export function reportJson({ url, result }: Reported): string {
  const { requests, seconds, statements, exchanges, stopped } = result;
  const report = {
    url,
    requests,
    seconds,
    ...(stopped !== undefined && { stopped }),
    statements,
    exchanges: exchanges.map((each) => ({
      number: each.number,
      sent_at_ms: rounded(each.sentAtMs),
      answered_at_ms: rounded(each.answeredAtMs),
      status: each.status,
      caller: each.caller,
      path: each.path,
      headers: shownHeaders(each.headers),
    })),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** The headers of limiters. The report leaves out others, as they may hold secrets. */
const limiterHeaders = /^(?:retry-after|date|(?:x-)?ratelimit.*)$/;

function shownHeaders(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => limiterHeaders.test(name)));
}

export function entriesOf({ statements }: AuditResult): readonly (readonly [string, Statement])[] {
  return Object.entries(statements) as [string, Statement][];
}

/** A statement's value for one cell. Of several fields, each false one is marked with `(!)`. */
export function shownValue({ value, certainty }: Statement): string {
  if (certainty === 'undetermined') return '-';
  if (Array.isArray(value)) return value.join(', ');
  if (value !== null && typeof value === 'object') {
    const parts = Object.entries(value).map(([name, said]) =>
      said === true ? name : `${name} (!)`,
    );
    return parts.length === 0 ? 'none' : parts.join(', ');
  }
  return String(value);
}

/** The whole result in one sentence. */
export function answerOf({ statements, exchanges }: AuditResult): string {
  const { algorithm, limit, window_seconds: window, at_once: atOnce, ...rest } = statements;
  if (algorithm.value === 'no_limit_seen') return `no limit was seen: ${algorithm.sentence}`;
  if (algorithm.value === 'none_of_these')
    return `${algorithm.sentence.split(': ', 1)[0]}: see algorithm`;
  if (exchanges.every(({ outcome }) => outcome !== 'refused')) return algorithm.sentence;
  const many = `${limit.value ?? limit.sentence}`;
  const time = window.value === null ? window.sentence : `${window.value} s`;
  const isUnknown = limit.value === null && limit.sentence === window.sentence;
  const figures = isUnknown ? `, ${limit.sentence}` : ` of ${many} in ${time}`;
  const known = [rest.keyed_by, rest.refusals_spend, rest.retry_after].filter(
    ({ certainty }) => certainty === 'certain',
  );
  return [
    `${algorithm.value?.replace('_', ' ') ?? 'a limiter'}${figures}`,
    ...[...known, ...(typeof atOnce.value === 'number' ? [atOnce] : [])].map(
      ({ sentence }) => sentence,
    ),
  ].join('; ');
}

/** What ended an audit early, and what allows more. */
const stops: Readonly<Record<StopReason, string>> = {
  budget: 'it used all its requests; --budget allows more',
  time: 'its time was over; --timeout allows more',
  errors: 'five errors in a row',
  not_reachable: 'no reply came',
  interrupted: 'it was interrupted',
};

/** How much was asked, and why it ended if something is open. */
export function endOf(result: AuditResult): string {
  const { requests, seconds, statements, exchanges, stopped } = result;
  const { algorithm, limit, window_seconds: window } = statements;
  const isOpen = algorithm.value === null || (limit.value !== null && window.value === null);
  const open = isOpen
    ? '; its plan ended before all was certain: a second audit asks at other times, and may tell'
    : '';
  const end = stopped === undefined ? open : `; stopped early: ${stops[stopped]}`;
  const [first] = exchanges;
  const passed = exchanges.filter(
    (each) => each.outcome === 'passed' && first !== undefined && isSameSubject(each, first),
  ).length;
  const isOneLimit = algorithm.certainty === 'certain' && limit.value !== null;
  const further = isOneLimit
    ? `; ${passed} of the first caller passed: a second limit above that, over a longer time, would not show`
    : '';
  return `${requests} requests in ${Math.round(seconds)} s${further}${end}`;
}

/** The numbers of so many requests are shown with a statement. */
const mostShown = 3;

export function reportText({ url, result, differences }: Reported): string {
  const rows = entriesOf(result).map(([name, statement]) => {
    const { certainty, sentence, exchanges } = statement;
    const numbers = exchanges.slice(0, mostShown).map((number) => `#${number}`);
    const more = exchanges.length > mostShown ? ` and ${exchanges.length - mostShown} more` : '';
    const shown = numbers.length === 0 ? '' : ` [${numbers.join(', ')}${more}]`;
    const cells = [name.padEnd(17), shownValue(statement).padEnd(18), certainty.padEnd(12)];
    return `  ${cells.join(' ')} ${sentence}${shown}`;
  });
  return [
    `${url}: ${answerOf(result)}`,
    '',
    ...rows,
    '',
    endOf(result),
    ...differences.map((line) => `DIFFERS  ${line}`),
    '',
  ].join('\n');
}

export function reportMarkdown({ url, result, differences }: Reported): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  return [
    '# Audit of a rate limiter',
    '',
    `Target: ${url}, ${endOf(result)}`,
    '',
    `**${answerOf(result)}**`,
    '',
    '| statement | value | certainty | |',
    '|---|---|---|---|',
    ...entriesOf(result).map(
      ([name, each]) =>
        `| \`${name}\` | ${cell(shownValue(each))} | ${each.certainty} | ${cell(each.sentence)} |`,
    ),
    ...differences.map((line) => `\n- differs: ${line}`),
    '',
  ].join('\n');
}

/** The values of `limiterRefill`; undefined for limiters that the simulator does not have. */
const refills: Partial<Readonly<Record<AlgorithmValue, string>>> = {
  sliding_log: 'sliding',
  token_bucket: 'continuous',
  fixed_window: 'interval',
  aligned_window: 'interval_aligned',
  sliding_counter: 'sliding_counter',
};

/**
 * The assumptions, in YAML, with which `smstwin serve` behaves like this limiter. Comments list
 * what the simulator cannot do.
 */
export function assumptionsText({ algorithm, limit, window_seconds, ...rest }: Statements): string {
  const { refusals_spend: refusals, errors_spend: errors, retry_after: retryAfter } = rest;
  const refill = algorithm.value === null ? undefined : refills[algorithm.value];
  const lines = ['# What an audit learned of a rate limiter.'];
  const missing: string[] = [];
  if (refill === undefined) missing.push(`the algorithm: ${algorithm.sentence}`);
  else lines.push(`limiterRefill: ${refill}`);
  if (refusals.value === null) missing.push(`whether refusals count: ${refusals.sentence}`);
  else lines.push(`refusedSpendsToken: "${refusals.value ? 'yes' : 'no'}"`);
  if (errors.value === null) missing.push(`whether errors count: ${errors.sentence}`);
  else lines.push(`errorsSpendToken: "${errors.value ? 'yes' : 'no'}"`);
  if (limit.value !== null) lines.push(`# Add to serve: --limit send=${limit.value}`);
  if (window_seconds.value !== 60)
    missing.push(`a window of ${window_seconds.value ?? 'unknown'} s: the simulator's is a minute`);
  if (retryAfter.value !== 'exact' && retryAfter.value !== null)
    missing.push(`a Retry-After that is ${retryAfter.value}: set it by a fault`);
  return `${[...lines, ...missing.map((line) => `# Missing: ${line}`)].join('\n')}\n`;
}
