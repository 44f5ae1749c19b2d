/**
 * The matcher `expect(sim).toPassReferee()` for Vitest and, by `expect.extend`, for Jest. Its
 * failure message lists what the client did wrong.
 */
import type { ClientRuleId } from '#contract/rules.ts';
import { counted } from '#io/terminal.ts';
import type { Report } from './intents-file.ts';
import type { reportJson } from './report-json.ts';

/** What `toPassReferee` judges, and what it lets pass. */
export interface PassRefereeOptions {
  /** Rules that may be broken. */
  readonly allow?: readonly ClientRuleId[];
  /** Advice counts as failure. */
  readonly strict?: boolean;
  /** The client has not finished: judges only what later requests cannot change. */
  readonly partial?: boolean;
  /** Judges this account alone, by name or id. */
  readonly account?: string;
  /** How long after a 429 a request was still in flight (CLIENT-2): `"1s"`. */
  readonly grace?: string | number;
  /** What the client meant to send and what it reported. */
  readonly intents?: readonly Omit<Report, 'lines'>[];
}

interface Refereed {
  referee(options: Omit<PassRefereeOptions, 'allow'>): ReturnType<typeof reportJson>;
}

/** What a matcher of Vitest or Jest returns. */
export interface MatcherResult {
  /** True if no rule is broken. */
  readonly pass: boolean;
  /** What the client did wrong, by rule. */
  readonly message: () => string;
}

const shownFindings = 5;

/** For Jest: `expect.extend({ toPassReferee })`; `smstwin/vitest` does this itself. */
export function toPassReferee(received: unknown, options: PassRefereeOptions = {}): MatcherResult {
  if (typeof (received as Partial<Refereed> | undefined)?.referee !== 'function') {
    return { pass: false, message: () => 'expected a simulator of smstwin' };
  }
  const { allow = [], ...judged } = options;
  const { rules, exchanges } = (received as Refereed).referee(judged);
  const broken = rules.filter(({ id, verdict }) => verdict === 'failed' && !allow.includes(id));
  const lines = broken.flatMap(({ id, level, findings }) => [
    `${id} (${level})`,
    ...findings
      .slice(0, shownFindings)
      .map(({ what, exchanges: numbers }) => `  ${what} [exchanges ${numbers.join(', ')}]`),
    ...(findings.length > shownFindings ? [`  and ${findings.length - shownFindings} more`] : []),
  ]);
  const count = counted(exchanges, 'exchange');
  return {
    pass: broken.length === 0,
    message: () =>
      broken.length === 0
        ? `expected the client to break a rule, but it passed with ${count}`
        : `expected the client to pass the referee, but in ${count}:\n\n${lines.join('\n')}`,
  };
}
