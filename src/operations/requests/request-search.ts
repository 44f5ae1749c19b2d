/**
 * The language of a search for requests: words such as `to:+12025550164 is:lost`, which must all
 * match. A value with blanks is in double quotes, and so is a text that looks like a word.
 */
import { type FaultKindName, faultKindNames } from '#contract/fault-kinds.ts';
import { endpointNames } from '#contract/limits.ts';
import { nearestOf } from '#io/mistakes.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { OperationRefused } from '../../sim/errors.ts';
import { timeMs } from '../input-fields.ts';
import { fieldOf, isReplyOf, senderOf, shortText } from './request-views.ts';
import { type Mark, markNames, type SearchWord, searchWords } from './search-words.ts';

type Test = (exchange: RecordedExchange) => boolean;

const markTests: Readonly<Record<Mark, Test>> = {
  replay: ({ isReplay }) => isReplay,
  lost: ({ isLost }) => isLost,
  throttled: ({ status }) => status === 429,
};

/** Returns the test for the value of a named word, or refuses the value. */
const testsByName: Readonly<Record<SearchWord, (value: string) => Test>> = {
  to: (value) => (exchange) => fieldOf(exchange.body, 'to') === value,
  from: (value) => (exchange) => senderOf(exchange) === value,
  /** `429`, or `4xx` for all statuses from 400 to 499. */
  status: (value) => {
    const digits = value.replace(/x+$/i, '');
    if (!/^[1-5](\d\d|\dx|xx)$/i.test(value))
      throw refused(`\`${value}\` is not a status: expected one such as 429 or 4xx`);
    return ({ status }) => String(status).startsWith(digits);
  },
  request_id: (value) => (exchange) => fieldOf(exchange.body, 'request_id') === value,
  /** The id of a key, or the beginning of its text, as far as the record shows that. */
  key:
    (value) =>
    ({ keyId, shownKey }) =>
      keyId === value || (keyId !== undefined && value !== '' && shownKey.startsWith(value)),
  account:
    (value) =>
    ({ accountId, accountName }) =>
      accountId === value || accountName === value,
  endpoint: (value) => {
    const name = oneOf(value, endpointNames, 'endpoint');
    return (exchange) => exchange.endpoint === name;
  },
  /** At this simulated time or later. */
  since: (value) => {
    const sinceMs = timeMs(value, 'search');
    return ({ atMs }) => atMs >= sinceMs;
  },
  /** Before this simulated time. */
  until: (value) => {
    const untilMs = timeMs(value, 'search');
    return ({ atMs }) => atMs < untilMs;
  },
  /** Searches the text of the reply: parsing a thousand bodies would take long. */
  message_id: (value) => (exchange) => isReplyOf(value, exchange),
  /** The fault that struck: its id, its kind, or `any`. */
  fault: (value) => {
    if (/^fault-\d+$/.test(value)) return ({ faultId }) => faultId === value;
    const kind: FaultKindName | 'any' = oneOf(value, [...faultKindNames, 'any'], 'fault');
    return ({ faultKind }) => faultKind === kind || (kind === 'any' && faultKind !== undefined);
  },
  is: (value) => markTests[oneOf(value, markNames, 'mark')],
};

/** `to:…`, `status:…`, and so on. */
export const wordForms = searchWords.map((word) => `\`${word}:…\``).join(', ');

/** A word with its name, or a text; either may have double quotes around its value. */
const wordForm = /(?:([A-Za-z_]+):)?(?:"([^"]*)"|(\S+))|\S+/g;

/** Returns a test that is true for an exchange that every word of the search matches. */
export function matcherOf(search: string): Test {
  const tests = [...search.matchAll(wordForm)].map(([whole, name, quoted, plain]) =>
    name === undefined
      ? containing((quoted ?? plain ?? whole).toLowerCase())
      : named(name, quoted ?? plain ?? ''),
  );
  return (exchange) => tests.every((matches) => matches(exchange));
}

function named(name: string, value: string): Test {
  const word = searchWords.find((each) => each === name);
  if (word !== undefined) return testsByName[word](value);
  const hint = suggestion(name, searchWords);
  throw refused(
    `no word \`${name}\`${hint}; the words are ${searchWords.join(', ')}; a text with a colon needs double quotes`,
  );
}

function containing(text: string): Test {
  return ({ path, query, body, reply }) =>
    [path, query, shortText(body), shortText(reply)].some((part) =>
      part?.toLowerCase().includes(text),
    );
}

function oneOf<T extends string>(value: string, names: readonly T[], what: string): T {
  const name = names.find((each) => each === value);
  if (name !== undefined) return name;
  const hint = suggestion(value, names);
  throw refused(`no ${what} \`${value}\`${hint}; expected one of ${names.join(', ')}`);
}

function suggestion(given: string, names: readonly string[]): string {
  const nearest = nearestOf(given, names);
  return nearest === undefined ? '' : `: did you mean \`${nearest}\`?`;
}

function refused(message: string): OperationRefused {
  return new OperationRefused('invalid', message, 'search');
}
