/**
 * Which differences give a caller a limit of its own. The list is certain if each difference that
 * may be in it was tried alone, or with others that share the limit.
 */
import type { Omitted } from './evidence.ts';
import { type AuditedExchange, isSameSubject, type Subject } from './run.ts';
import { type Advice, certain, list, type Statement, undetermined } from './statement.ts';

/** Whether another subject shares the limit of the first one, and what showed it. */
export interface KeyTest {
  readonly subject: Subject;
  readonly isShared: boolean;
  /** False if the limit of the first may have come back meanwhile: then this shows little. */
  readonly isClear: boolean;
  readonly exchanges: readonly number[];
  /** Its requests, if it may have a limit of its own: a list for each round. */
  readonly own: readonly Omitted[];
}

/** Who was asked, besides the first caller. */
export interface Askers {
  readonly exchanges: readonly AuditedExchange[];
  readonly keyTests: readonly KeyTest[];
  /** All who were to be asked; an audit may end before. */
  readonly others: readonly Subject[];
  /** What differs between the first subject and another, such as `path` and `query`. */
  readonly differencesOf: (subject: Subject) => readonly string[];
  /** What may tell callers apart; `header` stands for any. */
  readonly differences: readonly string[];
  readonly advice: Advice;
}

/** `mayLackRequests`: a request that passed may have had a token that just came back. */
export function keyedBy(askers: Askers, mayLackRequests: boolean): Statement<readonly string[]> {
  const { exchanges, keyTests, differencesOf } = askers;
  const shown = keyTests.flatMap((test) => test.exchanges);
  if (exchanges.every(({ outcome }) => outcome !== 'refused'))
    return undetermined('not tried, as no request was refused');
  const passed = keyTests.find(
    ({ isShared, subject }) => !isShared && (mayLackRequests || isEverShared(keyTests, subject)),
  );
  if (passed !== undefined) {
    const what = wordFor(differencesOf(passed.subject));
    const sentence = `${what}: a request passed, but a token may have come back just then`;
    return undetermined(sentence, shown);
  }
  const { keys, open, shared } = foundIn(askers);
  const sharers = [...new Set(shared.map((each) => sharerText(each, differencesOf(each))))];
  const verb = sharers.length === 1 ? 'shares' : 'share';
  const share = sharers.length === 0 ? [] : [`${list(sharers, 'and')} ${verb} it`];
  const own = keys.length === 0 ? [] : [`each ${wordFor(keys)} has a limit of its own`];
  if (open.length === 0 && keys.length === 0)
    return certain(
      ['all'],
      ['all callers that were tried share one limit', ...share].join(': '),
      shown,
    );
  if (open.length === 0) return certain(keys, [...own, ...share].join('; '), shown);
  const advice = new Set(open.map((each) => adviceFor(each, askers)));
  return undetermined([...own, ...share, ...advice].join('; '), shown);
}

/** The differences that make another caller, those that are open, and who shares the limit. */
function foundIn({ exchanges, keyTests, differencesOf, differences }: Askers) {
  const sharers = keyTests.filter(({ isShared }) => isShared).map(({ subject }) => subject);
  /** What differs in some caller that shares the limit: none of these alone makes another caller. */
  const ofSharers = new Set(sharers.flatMap(differencesOf));
  // Each list has the differences that may be why this one has a limit of its own.
  const reasons = keyTests
    .filter((test) => !test.isShared && errorOf(test, exchanges) === undefined)
    .map(({ subject }) => differencesOf(subject))
    .map((differing) => {
      const suspected = differing.filter((each) => !ofSharers.has(each));
      return suspected.length === 0 ? differing : suspected;
    });
  const keys = [...new Set(reasons.filter(({ length }) => length === 1).flat())];
  const isKey = (difference: string) => keys.includes(difference);
  const unclear = reasons.filter((differing) => !differing.some(isKey)).flat();
  const open = differences.filter(
    (each) => !isKey(each) && (!ofSharers.has(each) || unclear.includes(each)),
  );
  return { keys, open, shared: sharers.filter((each) => !differencesOf(each).some(isKey)) };
}

/** The status with which others were answered, if it is an error and the first caller got none. */
function errorOf({ subject, exchanges: numbers }: KeyTest, exchanges: readonly AuditedExchange[]) {
  const errorIn = (each: readonly AuditedExchange[]) =>
    each.find(({ outcome, status }) => outcome === 'passed' && status >= 400)?.status;
  const asked = numbers.flatMap((number) => exchanges[number - 1] ?? []);
  return errorIn(exchanges.slice(0, 1)) === undefined
    ? errorIn(asked.filter((each) => isSameSubject(each, subject)))
    : undefined;
}

/** Why it is open whether limiters tell callers apart by this, and what to do. */
function adviceFor(difference: string, askers: Askers): string {
  const { others, keyTests, exchanges, differencesOf, advice } = askers;
  const first = exchanges[0]?.path ?? '/';
  const test = keyTests.find(({ subject }) => differencesOf(subject).includes(difference));
  const error = test && errorOf(test, exchanges);
  if (test !== undefined && error !== undefined)
    return `${targetOf(test.subject, difference)} was answered ${error}: name one that your service answers like the first`;
  if (test !== undefined) {
    const [one, other] = [partsOf(first), partsOf(test.subject.path)];
    const both = advice('paths', `${other.path}${one.query}`, `${one.path}${other.query}`);
    return `${test.subject.path} has a limit of its own, by its path or by its query: add ${both}`;
  }
  const named = others.find((other) => differencesOf(other).includes(difference));
  if (named !== undefined)
    return `${targetOf(named, difference)} was not asked, or its answers do not show it`;
  if (difference === 'path')
    return `no other path was asked: add another path of your service with ${advice('paths')}`;
  if (difference === 'query')
    return `no other query was asked: add ${advice('paths', `${partsOf(first).path}?x=1`)}`;
  if (difference === 'address')
    return 'no other address was asked: an audit has two only if its target is on 127.0.0.1';
  const name = wordFor([difference]);
  return difference === 'header'
    ? `no other header was asked: add ${advice('callers', 'Name: a, b')}`
    : `all requests had the same ${name}: add ${advice('callers', `${name}: a, b`)}`;
}

function partsOf(path: string): { readonly path: string; readonly query: string } {
  const [name = ''] = path.split('?', 1);
  return { path: name, query: path.slice(name.length) };
}

function targetOf({ caller, path }: Subject, difference: string): string {
  return ['path', 'query'].includes(difference) ? path : caller;
}

/** `another path (/other)`. */
function sharerText(subject: Subject, differences: readonly string[]): string {
  const [difference = ''] = differences;
  const prefix = `${difference.replace('header:', '')}: `;
  const target = targetOf(subject, difference).replace(prefix, '');
  return `another ${wordFor(differences)} (${target})`;
}

/** `header:x-api-key` as `X-Api-Key`. */
function wordFor(differences: readonly string[]): string {
  const words = differences.map((each) =>
    each.startsWith('header:')
      ? each.slice('header:'.length).replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase())
      : each,
  );
  return words.join(' and ');
}

/** True if a test found that this subject shares the limit. */
function isEverShared(tests: readonly KeyTest[], subject: Subject): boolean {
  return tests.some((test) => test.isShared && test.subject === subject);
}

/**
 * The lists of tests of which each may be wrong: the other subject passed, but its requests may have
 * counted in the limit of the first one. `isOfOne`: the limit is one request, so that a token that
 * came back looks like a limit of its own.
 */
export function suspectsIn(
  tests: readonly KeyTest[],
  others: readonly Subject[],
  isOfOne: boolean,
): readonly (readonly KeyTest[])[] {
  const passed = tests.filter(({ own }) => own.length > 0);
  // Those that were refused in another test share the limit, while the others may not.
  const sharers = passed.filter(({ subject }) => isEverShared(tests, subject));
  const unclear = passed.filter(({ isClear }) => !isClear || isOfOne);
  // What looks clear is not if the limit is higher than it seemed: so each is suspect alone.
  const alone = others.map((other) => passed.filter(({ subject }) => subject === other));
  const withoutOne = others.map((other) => unclear.filter(({ subject }) => subject !== other));
  const lists = [sharers, passed, unclear, ...alone, ...withoutOne];
  // Each list once, and no empty one.
  const byTests = new Map(
    lists.map((each) => [each.map((test) => tests.indexOf(test)).join(), each]),
  );
  byTests.delete('');
  return [...byTests.values()];
}
