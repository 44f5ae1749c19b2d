/**
 * What an audit says of a limiter, and the words that its sentences share. A statement is certain if
 * every version that remains agrees.
 */
import type { Span } from '#judging/limiter/space/decision.ts';
import type { Algorithm } from '#judging/limiter/space/families.ts';
import { sameWindow } from './remaining.ts';

/** One answer, with how far it is known and the requests that show it. */
export interface Statement<Value = unknown> {
  /** The answer; null if it is not known, or if the limiter has none. */
  readonly value: Value | null;
  /**
   * `certain`: no limiter of a known kind that answers like this one has another value. `likely` is
   * for readers of the JSON: no answer has it yet.
   */
  readonly certainty: 'certain' | 'likely' | 'undetermined';
  /** The answer in words, or why it is not known. */
  readonly sentence: string;
  /** The numbers of the requests that show it. */
  readonly exchanges: readonly number[];
  /** Of a number that is not a whole one: the least and the most that it can be. */
  readonly range?: Span;
}

/** The algorithms that an audit knows, and its two answers if it finds none. */
export type AlgorithmValue = Algorithm | 'leaky_queue' | 'no_limit_seen';

export const algorithmNames: Readonly<Record<AlgorithmValue, string>> = {
  fixed_window: 'a fixed window, which the first request opens',
  aligned_window: 'windows of the clock',
  sliding_log: 'a sliding log',
  sliding_counter: 'a sliding counter',
  token_bucket: 'a token bucket',
  leaky_queue: 'a queue that delays',
  none_of_these: 'none of the known limiters',
  no_limit_seen: 'no limit',
};

/**
 * `exact`: this wait is enough, and a shorter one is not. `sufficient`: it is enough, but a shorter
 * one may be too. `short`: it is not enough. `unreadable`: neither a number nor a date.
 */
export type RetryAfter = (typeof retryAfterValues)[number];
export const retryAfterValues = ['exact', 'sufficient', 'short', 'absent', 'unreadable'] as const;

/** What an audit says, one statement for each question. */
export interface Statements {
  /** How requests are counted. */
  readonly algorithm: Statement<AlgorithmValue>;
  /** The most requests in a window. */
  readonly limit: Statement<number>;
  /** The window; of a token bucket, the time until it is full again. */
  readonly window_seconds: Statement<number>;
  /** The most requests at once, if that differs from the limit. */
  readonly burst: Statement<number>;
  /** How many tokens return per second, if they return one by one. */
  readonly refill_per_second: Statement<number>;
  /** `header:<name>`, `address`, `path`, `query`, or `all`. */
  readonly keyed_by: Statement<readonly string[]>;
  /** True if a refused request also counts. */
  readonly refusals_spend: Statement<boolean>;
  /** True if a request that is answered with an error also counts. */
  readonly errors_spend: Statement<boolean>;
  /** How `Retry-After` compares with the real wait. */
  readonly retry_after: Statement<RetryAfter>;
  /** For each header such as `RateLimit`: true if it is right, otherwise what is wrong. */
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

/** An option of `audit()` that an answer may advise to set. */
export type AdvisedOption = 'callers' | 'maxWindow' | 'paths' | 'refused';

/** Names an option, and what to add to it, in the words of the command or of the function. */
export type Advice = (option: AdvisedOption, ...values: readonly string[]) => string;

/** Digits and letters need no quotes. */
export function quoted(value: string): string {
  return /^\w+$/.test(value) ? value : `'${value}'`;
}

/** The advice of `audit()`. */
export const optionAdvice: Advice = (option, ...values) => {
  if (values.length === 0) return option;
  const added = option === 'callers' ? 'a second name' : values.map(quoted).join(', ');
  return `${added} to ${option}`;
};

/** The number with the fewest digits in a span: people choose round limits. */
export function roundest(least: number, most: number): number {
  for (let digits = 1; digits <= 15; digits += 1) {
    const rounded = Number(((least + most) / 2).toPrecision(digits));
    if (rounded >= least && rounded <= most) return rounded;
  }
  return (least + most) / 2;
}

/** `a, b or c`. */
export function list(words: readonly string[], join = 'or'): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} ${join} ${last}`;
}

/** A range as text, both ends with at most three digits: `1.24 to 2.26 s`. */
export function rangeText([least, most]: readonly [number, number], unit = ''): string {
  const [from, to] = [least, most].map((each) => Number(each.toPrecision(3)));
  return `${from === to ? from : `${from} to ${to}`}${unit}`;
}

/** A window in seconds: certain if it is known to within 5 %. */
export function windowStatement(seconds: Span, deciding: readonly number[]) {
  const range = rangeText(seconds, ' s');
  if (!isOneWindow(seconds)) return undetermined(range, deciding);
  const round = roundest(...seconds);
  return { ...certain(round, `${round} s (${range})`, deciding), range: seconds };
}

/** What a bucket gets back, or a queue lets pass. Certain if it is known to within 5 %. */
export function refillStatement(perSecond: Span, unit: string, deciding: readonly number[]) {
  const range = rangeText(perSecond, ` ${unit} a second`);
  if (!isOneWindow(perSecond)) return undetermined(range, deciding);
  const round = roundest(...perSecond);
  return { ...certain(round, range, deciding), range: perSecond };
}

function isOneWindow([least, most]: Span): boolean {
  return most / least <= sameWindow;
}
