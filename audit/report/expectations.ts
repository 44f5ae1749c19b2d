/** What `--expect` of an audit demands, and which statements differ from it. */
import { nameAndValue } from '#io/flag-values.ts';
import { ValueError } from '#io/flags.ts';
import { algorithmNames, retryAfterValues, type Statements } from '../statement.ts';

/** What `--expect` asks of a statement. */
export interface Expectation {
  readonly name: keyof Statements;
  readonly value: string;
}

/** What a value of `--expect` must look like, and the words for it. */
interface ValueForm {
  readonly pattern: RegExp;
  readonly words: string;
}

const oneNumber: ValueForm = { pattern: /^\d+(?:\.\d+)?$/, words: 'a number' };
const seconds: ValueForm = { ...oneNumber, words: 'seconds, such as 60' };
const trueOrFalse: ValueForm = { pattern: /^(?:true|false)$/, words: 'true or false' };
const oneAlgorithm: ValueForm = {
  pattern: new RegExp(`^(?:${Object.keys(algorithmNames).join('|')})$`),
  words: `an algorithm of ${Object.keys(algorithmNames).join(', ')}`,
};

const oneKey = '(?:all|address|path|query|header:[\\w-]+)';
const keys: ValueForm = {
  pattern: new RegExp(`^${oneKey}(?:,${oneKey})*$`),
  words: 'all, or some of address, path, query and header:NAME with commas between them',
};
const waits: ValueForm = {
  pattern: new RegExp(`^(?:${retryAfterValues.join('|')})$`),
  words: `one of ${retryAfterValues.join(', ')}`,
};

/** A record, so that a missing name does not compile. */
const valueForms: Readonly<Record<keyof Statements, ValueForm>> = {
  algorithm: oneAlgorithm,
  limit: oneNumber,
  window_seconds: seconds,
  burst: oneNumber,
  refill_per_second: oneNumber,
  keyed_by: keys,
  refusals_spend: trueOrFalse,
  errors_spend: trueOrFalse,
  retry_after: waits,
  fields: trueOrFalse,
  at_once: { pattern: /^(?:exact|\d+)$/, words: 'exact, or how many more pass' },
  most_in_a_window: oneNumber,
};
const names = Object.keys(valueForms) as (keyof Statements)[];

/** Reads `algorithm=sliding_log limit=120 window=60`. */
export function expectValue(text: string): readonly Expectation[] {
  return text
    .trim()
    .split(/\s+/)
    .map((part) => {
      const [word, value] = nameAndValue(part);
      const wanted = word === 'window' ? 'window_seconds' : word;
      const name = names.find((known) => known === wanted);
      if (name !== undefined && valueForms[name].pattern.test(value)) return { name, value };
      if (name !== undefined) throw new ValueError(`${word}: expected ${valueForms[name].words}`);
      throw new ValueError(`expected name=value with a name of ${names.join(', ')}, window`);
    });
}

/** A line for each statement that is not as expected, or not certain. */
export function differencesFrom(
  expectations: readonly Expectation[],
  statements: Statements,
): readonly string[] {
  return expectations.flatMap(({ name, value }) => {
    const { value: actual, certainty, sentence, range } = statements[name];
    const isCertain = certainty === 'certain';
    // The requests permit each number of a range: none of them differs from what was seen.
    const isInRange = range !== undefined && range[0] <= Number(value) && Number(value) <= range[1];
    if (isCertain && (isInRange || valueText(actual) === value)) return [];
    const shown = isCertain ? valueText(actual) : certainty;
    return [`${name}: expected ${value}, but ${shown} (${sentence})`];
  });
}

/** Fields are as expected (`true`) if all of them are. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (value === null || typeof value !== 'object') return String(value);
  return String(Object.values(value).every((each) => each === true));
}
