/** What `--expect` asks, and where the statements differ. */
import { ValueError } from '#io/flags.ts';
import type { Statements } from './statement.ts';
import { algorithmNames as algorithms } from './statements.ts';

export interface Expectation {
  readonly name: keyof Statements;
  readonly value: string;
}

const aliases: Readonly<Record<string, keyof Statements>> = { window: 'window_seconds' };
const names: readonly (keyof Statements)[] = [
  ...(['algorithm', 'limit', 'window_seconds', 'burst', 'refill_per_second', 'keyed_by'] as const),
  ...(['refusals_spend', 'errors_spend', 'retry_after', 'fields', 'at_once'] as const),
  'most_in_a_window',
];

/** Reads `algorithm=sliding_log limit=120 window=60`. */
export function expectValue(text: string): readonly Expectation[] {
  return text
    .trim()
    .split(/\s+/)
    .map((part) => {
      const [word = '', value = ''] = part.split('=', 2);
      const name = aliases[word] ?? names.find((known) => known === word);
      if (name === 'algorithm' && !Object.hasOwn(algorithms, value))
        throw new ValueError(`expected an algorithm of ${Object.keys(algorithms).join(', ')}`);
      if (name !== undefined && value !== '') return { name, value };
      throw new ValueError(`expected name=value with a name of ${names.join(', ')}`);
    });
}

/** A line for each statement that is not as expected, or not certain. */
export function differencesFrom(
  expectations: readonly Expectation[],
  statements: Statements,
): readonly string[] {
  return expectations.flatMap(({ name, value }) => {
    const { value: actual, certainty, sentence } = statements[name];
    const shown = Array.isArray(actual) ? actual.join(',') : String(actual);
    const isSame = certainty === 'certain' && textOf(actual) === value;
    return isSame
      ? []
      : [
          `${name}: expected ${value}, but ${certainty === 'certain' ? shown : 'undetermined'} (${sentence})`,
        ];
  });
}

/** Fields are as expected (`true`) if all of them are. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (value === null || typeof value !== 'object') return String(value);
  return String(Object.values(value).every((each) => each === true));
}
