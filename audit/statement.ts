/** What an audit says of a limiter. A statement is certain if every version that remains agrees. */

/** One answer, with how far it is known and the requests that show it. */
export interface Statement<Value = unknown> {
  /** The answer; null if it is not known. */
  readonly value: Value | null;
  /** `certain`: no limiter of a known kind that answers like this one has another value. */
  readonly certainty: 'certain' | 'likely' | 'undetermined';
  /** The answer in words, or why it is not known. */
  readonly sentence: string;
  /** The numbers of the requests that show it. */
  readonly exchanges: readonly number[];
}

/** The algorithms that an audit knows, and what it says where it finds none of them. */
export type AlgorithmValue =
  | 'fixed_window'
  | 'aligned_window'
  | 'sliding_log'
  | 'sliding_counter'
  | 'token_bucket'
  | 'leaky_queue'
  | 'none_of_these'
  | 'no_limit_seen';

/** `exact`: sufficient and tight. */
export type RetryAfter = 'exact' | 'sufficient' | 'short' | 'absent' | 'unreadable';

/** What an audit says, one statement for each question. */
export interface Statements {
  /** How requests are counted. */
  readonly algorithm: Statement<AlgorithmValue>;
  /** The most requests in a window. */
  readonly limit: Statement<number>;
  /** The window; of a token bucket, the time until it is full again. */
  readonly window_seconds: Statement<number>;
  /** The most at once, where that is a number of its own. */
  readonly burst: Statement<number>;
  /** How many come back a second, where they come back one by one. */
  readonly refill_per_second: Statement<number>;
  /** `header:<name>`, `address`, `path`, `query`, or `all`. */
  readonly keyed_by: Statement<readonly string[]>;
  /** True if a refused request counts, too. */
  readonly refusals_spend: Statement<boolean>;
  /** True if a request that is answered with an error counts, too. */
  readonly errors_spend: Statement<boolean>;
  /** Whether `Retry-After` is true. */
  readonly retry_after: Statement<RetryAfter>;
  /** Whether `RateLimit` and its kind are true. */
  readonly fields: Statement<Readonly<Record<string, true | string>>>;
  /** `exact`, or how many more pass when requests arrive together. */
  readonly at_once: Statement<'exact' | number>;
  /** The most that passed in any window. */
  readonly most_in_a_window: Statement<number>;
}

export function certain<Value>(
  value: Value,
  sentence: string,
  exchanges: readonly number[] = [],
): Statement<Value> {
  return { value, certainty: 'certain', sentence, exchanges };
}

export function undetermined(
  sentence: string,
  exchanges: readonly number[] = [],
): Statement<never> {
  return { value: null, certainty: 'undetermined', sentence, exchanges };
}

/** The number of the fewest digits between two others: a limiter's own, as people choose it. */
export function roundest(least: number, most: number): number {
  for (let digits = 1; digits <= 15; digits += 1) {
    const rounded = Number(((least + most) / 2).toPrecision(digits));
    if (rounded >= least && rounded <= most) return rounded;
  }
  return (least + most) / 2;
}

export function list(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
