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
