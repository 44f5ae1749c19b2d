/** The input of every report: a finished run, compared with the expectations. */
import type { Discovered } from '../discover.ts';
import type { Weighed } from '../expected.ts';
import type { RuleVerdict } from '../outcome.ts';
import type { Result, Verdict } from '../result.ts';

export interface Summary {
  /** The title of the reports; in lower case, the package of JUnit. */
  readonly title: string;
  /** The word for the verdict `observed`, if not that. */
  readonly observedName?: string;
  /** The sentence of a rule; empty for an unknown id. */
  readonly sentenceOf: (id: string) => string;
  readonly baseUrl: string;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly exitCode: number;
  readonly interrupted: boolean;
  readonly reachable: boolean;
  readonly sends: number;
  /** What `sends` counts, where it is something else. */
  readonly sendsAre?: string;
  readonly throttled: number;
  /** Connections that broke and were retried, by error. */
  readonly interruptions: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly rules: readonly RuleVerdict[];
  readonly results: readonly Result[];
  readonly weighed: Weighed;
  readonly discovered: Discovered;
}

/** A verdict as reports for people name it. */
export function verdictName(verdict: Verdict, { observedName }: Summary): string {
  return verdict === 'observed' && observedName !== undefined ? observedName : verdict;
}

/** The reason for a verdict, in one line. */
export function because(result: Result): string {
  if (result.expected !== undefined)
    return `expected ${result.expected}; actual ${result.actual ?? 'nothing'}`;
  if (result.verdict === 'observed') return JSON.stringify(result.seen);
  return (result.reason ?? '').split('\n')[0] ?? '';
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
