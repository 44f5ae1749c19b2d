/** What `--expect` asks of the statements of an audit, and which of them differ. */
import { ValueError } from '#io/flags.ts';
import { algorithmNames, type Statements } from './statement.ts';

/** What `--expect` asks of a statement. */
export interface Expectation {
  readonly name: keyof Statements;
  readonly value: string;
}

const aliases: Readonly<Record<string, keyof Statements>> = { window: 'window_seconds' };
/** A record, so that a missing name does not compile. */
const questions: Readonly<Record<keyof Statements, true>> = {
  algorithm: true,
  limit: true,
  window_seconds: true,
  burst: true,
  refill_per_second: true,
  keyed_by: true,
  refusals_spend: true,
  errors_spend: true,
  retry_after: true,
  fields: true,
  at_once: true,
  most_in_a_window: true,
};
const names = Object.keys(questions) as (keyof Statements)[];

/** Reads `algorithm=sliding_log limit=120 window=60`. */
export function expectValue(text: string): readonly Expectation[] {
  return text
    .trim()
    .split(/\s+/)
    .map((part) => {
      const [word = '', value = ''] = part.split('=', 2);
      const name = aliases[word] ?? names.find((known) => known === word);
      if (name === 'algorithm' && !Object.hasOwn(algorithmNames, value))
        throw new ValueError(`expected an algorithm of ${Object.keys(algorithmNames).join(', ')}`);
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
    const isCertain = certainty === 'certain';
    if (isCertain && textOf(actual) === value) return [];
    const shown = isCertain ? textOf(actual) : certainty;
    return [`${name}: expected ${value}, but ${shown} (${sentence})`];
  });
}

/** Fields are as expected (`true`) if all of them are. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (value === null || typeof value !== 'object') return String(value);
  return String(Object.values(value).every((each) => each === true));
}
