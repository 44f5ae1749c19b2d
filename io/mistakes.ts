/**
 * Describes all mistakes in settings, in a file or in the input of an operation, each with its
 * path. zod finds the mistakes; this module turns them into sentences that a user can act on, and
 * finds the name that a misspelt one may mean.
 */
import type { z } from 'zod';
import { CommandError, UsageError } from './command-error.ts';

export interface Mistake {
  /** Such as `accounts[0].sims[1].number`; empty for the value as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Unusable settings. The message lists every mistake, one per line. */
export class SettingsError extends CommandError {
  override readonly name = 'SettingsError';
  /** Each mistake with its path. */
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(2, ...mistakes.map(mistakeLine));
    this.mistakes = mistakes;
  }
}

export function mistakeLine({ path, message }: Mistake): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** A caller's own descriptions of keys and values, by path. */
export interface Words {
  readonly unknownKey?: (key: string, path: readonly PropertyKey[]) => string | undefined;
  /** What is expected at a path; undefined: use zod's own description. */
  readonly expected?: (path: readonly PropertyKey[]) => string | undefined;
}

export interface Place {
  /**
   * The place of the value in a world file, where `assumptions`, `limits` and `keys` have their own
   * words. Paths leave it out.
   */
  readonly at?: readonly PropertyKey[];
  /** The place that paths start with. */
  readonly within?: readonly PropertyKey[];
  readonly words?: Words;
}

/**
 * The mistakes of one parse, in the order of the value. Parse with `reportInput: true`, so that
 * messages can quote the wrong value.
 */
export function mistakesOf(
  { issues }: Pick<z.ZodError, 'issues'>,
  { at = [], within = [], words = {} }: Place = {},
): Mistake[] {
  return issues.flatMap((issue) => {
    const ownPath = [...within, ...issue.path];
    const path = [...at, ...ownPath];
    if (issue.code === 'invalid_union') {
      const intended = intendedOption(issue);
      if (intended !== undefined)
        return mistakesOf({ issues: intended }, { at, within: ownPath, words });
    }
    if (issue.code !== 'unrecognized_keys')
      return [{ path: pathText(ownPath), message: messageOf(issue, path, words) }];
    return issue.keys.map((key) => ({
      path: pathText([...ownPath, key]),
      message: words.unknownKey?.(key, path) ?? 'this key is not known here',
    }));
  });
}

/** The issues of the only option of a union whose keys are those of the value. */
function intendedOption(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  const options = issue.errors.filter((issues) =>
    issues.every(
      ({ code, path, input }) =>
        path.length > 0 && code !== 'unrecognized_keys' && input !== undefined,
    ),
  );
  return options.length === 1 ? options[0] : undefined;
}

function messageOf(issue: z.core.$ZodIssue, path: readonly PropertyKey[], words: Words): string {
  const expected = words.expected?.(path);
  if (expected !== undefined) return `expected ${expected}${quoted(issue, path)}`;
  if (issue.code === 'custom') return issue.message;
  const missing = issue.input === undefined ? 'is missing: ' : '';
  return `${missing}${expectation(issue)}${quoted(issue, path)}`;
}

/** What zod expected, in words that do not depend on its version. */
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith('expected')) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      // YAML reads an unquoted phone number as a number and drops its plus sign.
      return issue.expected === 'string' && typeof issue.input === 'number'
        ? 'expected a string, in quotes'
        : `expected ${typeNames[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${oneOf(issue.values)}`;
    case 'invalid_union':
      return 'options' in issue && issue.options
        ? `expected ${oneOf(issue.options)}`
        : issue.message;
    case 'too_small':
      return `expected at least ${amount(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `expected at most ${amount(issue.maximum, issue.origin)}`;
    default:
      return issue.message;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

const units: Readonly<Record<string, readonly [one: string, more: string]>> = {
  string: [' character', ' characters'],
  array: [' entry', ' entries'],
};

function amount(count: number | bigint, origin: string): string {
  const [one = '', more = ''] = units[origin] ?? [];
  return `${count}${Number(count) === 1 ? one : more}`;
}

function oneOf(values: readonly unknown[]): string {
  // A value of a union may be absent, which `undefined` stands for.
  const given = values.filter((value) => value !== undefined);
  const words = given.map((value) => JSON.stringify(value)).join(', ');
  return given.length === 1 ? words : `one of ${words}`;
}

/** The longest quotation of a wrong value, in characters. */
const mostQuoted = 60;

/** Quotes the wrong value, shortened, unless it may be an API key. */
function quoted(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string {
  const mayBeKey = path.at(-1) === 'key' || path.includes('keys');
  if (issue.input === undefined || mayBeKey || 'discriminator' in issue) return '';
  if (Array.isArray(issue.input)) return `; got a list of ${issue.input.length}`;
  if (typeof issue.input === 'object' && issue.input !== null) return '; got an object';
  const text = JSON.stringify(issue.input) ?? String(issue.input);
  return `; got ${text.length > mostQuoted ? `${text.slice(0, mostQuoted - 3)}...` : text}`;
}

/** The path as users write it: `accounts[0].sims[1].number`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
}

/** The name with the fewest letters to change; undefined if all names are too different. */
export function nearestOf(given: string, names: readonly string[]): string | undefined {
  const far = Math.max(2, Math.ceil(given.length / 2));
  const near = names
    .map((name) => ({ name, distance: changesBetween(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= far)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name;
}

/** How many letters must be inserted, removed or replaced to make one text the other. */
export function changesBetween(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      const removed = (above[column] ?? 0) + 1;
      current.push(Math.min(replaced, removed, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? 0;
}

/** Parses a value. Throws a UsageError that lists every mistake as `place: path: what is wrong`. */
export function parsed<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): z.output<Schema> {
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  throw new UsageError(
    ...mistakesOf(reading.error).map((mistake) => `${place}: ${mistakeLine(mistake)}`),
  );
}
