/**
 * The input of every report: a finished run, compared with the expectations. And texts that several
 * reports share.
 */
import { grouped } from '#io/grouped.ts';
import { headerOf, type ReportedExchange } from '../evidence/reply.ts';
import type { Weighed } from './expected.ts';
import type { Discovered, RuleVerdict } from './outcome.ts';
import type { Comparison, Result, Verdict } from './result.ts';

/** What happened in a run, whatever was expected. */
export interface Facts {
  readonly baseUrl: string;
  readonly startedAt: string;
  readonly durationMs: number;
  /** The seed of random values, if there are any. */
  readonly seed?: number;
  readonly sends: number;
  /** What `sends` counts, if it does not count sends. */
  readonly sendsAre?: string;
  readonly throttled: number;
  /** Connections that broke and were retried, by error. */
  readonly interruptions: Readonly<Record<string, number>>;
  readonly discovered: Discovered;
}

export interface Summary extends Facts {
  /** The title of the reports; in lower case, the package of JUnit. */
  readonly title: string;
  /** Another word for the verdict `observed`. */
  readonly observedName?: string;
  /** The sentence of a rule; empty for an unknown id. */
  readonly sentenceOf: (id: string) => string;
  readonly exitCode: number;
  readonly interrupted: boolean;
  readonly reachable: boolean;
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly rules: readonly RuleVerdict[];
  /** Rules that had to be tested and were not. */
  readonly unmet?: readonly string[];
  readonly comparison?: Comparison;
  readonly results: readonly Result[];
  readonly weighed: Weighed;
}

/** A verdict as reports for people name it. */
export function verdictName(verdict: Verdict, { observedName }: Summary): string {
  return verdict === 'observed' && observedName !== undefined ? observedName : verdict;
}

/** The reason for a verdict, in one line. */
export function because(result: Result): string {
  const again = result.verdict === 'flaky' ? `${result.reason}: ` : '';
  if (result.expected !== undefined)
    return `${again}expected ${result.expected}; actual ${result.actual ?? 'nothing'}`;
  if (result.verdict === 'observed') return JSON.stringify(result.seen);
  return (result.reason ?? '').split('\n')[0] ?? '';
}

/** The rows of a report for people on one case, besides its exchanges. */
export function rowsOf(result: Result, { weighed }: Summary): [string, string][] {
  const rows: [string, string | undefined][] = [
    ['Sends', result.sends],
    ['Demands', result.demands],
    ['Expected', result.expected],
    ['Actual', result.actual],
    ['Observed', result.verdict === 'observed' ? because(result) : undefined],
    ['Reason', result.reason],
    ['Expected failure', weighed.expected.get(result.id)],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}

/** The reasons why rules' cases were skipped, each with those cases; the most frequent first. */
export function skipReasons(results: readonly Result[]): [string, Result[]][] {
  const skipped = results.filter(({ verdict, kind }) => verdict === 'skipped' && kind === 'rule');
  return [...grouped(skipped, because)].sort(([, a], [, b]) => b.length - a.length);
}

/** Leaves out the middle of a text that is longer. */
export function middleCut(text: string, longest: number): string {
  const leftOut = text.length - longest;
  if (leftOut <= 0) return text;
  const start = text.slice(0, Math.floor(longest / 2));
  return `${start}… (${leftOut} more) …${text.slice(-Math.ceil(longest / 2))}`;
}

/** The status, headers and body of the reply, as they came. */
export function replyText({ failure, status, replyHeaders, replyBody }: ReportedExchange): string {
  if (failure !== undefined) return `no reply: ${failure}`;
  const headers = Object.entries(replyHeaders).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${status}`, ...headers, '', replyBody].join('\n');
}

/** The request as a shell command that reads the key from the environment. */
export function curlOf({ method, url, requestHeaders, requestBody }: ReportedExchange): string {
  const parts = ['curl -i'];
  // With `-X HEAD`, curl waits for the body that a reply to GET would have.
  if (method === 'HEAD') parts.push('--head');
  else if (method !== 'GET' || requestBody !== undefined) parts.push(`-X ${method}`);
  parts.push(quoted(url));
  for (const [name, value] of Object.entries(requestHeaders)) {
    if (name.toLowerCase() === 'authorization' && value.startsWith('Bearer '))
      parts.push(`-H "Authorization: Bearer $SMSTWIN_API_KEY"`);
    // A name with a colon and no value would leave the header out.
    else parts.push(`-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`);
  }
  if (requestBody === undefined) return parts.join(' ');
  // Else curl calls the body a form.
  if (headerOf({ headers: requestHeaders }, 'content-type') === undefined)
    parts.push(`-H 'Content-Type:'`);
  // Unlike `--data-binary`, it takes `@` as a part of the body and not as the start of a file's name.
  return [...parts, `--data-raw ${quoted(requestBody)}`].join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Escapes text for XML and HTML; replaces characters that XML 1.0 cannot hold. */
export function escapeMarkup(text: string): string {
  return (
    text
      .replace(/\p{Surrogate}/gu, '\uFFFD')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot hold.
      .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '\uFFFD')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
  );
}
