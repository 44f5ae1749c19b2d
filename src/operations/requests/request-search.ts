/**
 * Searches requests by words such as `to:+12025550164 status:429`. A word without a name may occur
 * anywhere in the path and the bodies.
 */
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { fieldOf, shortText } from './request-views.ts';

type Test = (exchange: RecordedExchange) => boolean;

/** Makes the test for the value of a named word. */
const testsByName: Readonly<Record<string, (value: string) => Test>> = {
  to: (value) => (exchange) => fieldOf(exchange.body, 'to') === value,
  /** `429`, or `4xx` for all statuses from 400 to 499. */
  status: (value) => {
    const digits = value.replace(/x+$/i, '');
    return ({ status }) => String(status).startsWith(digits) && value.length === 3;
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
  endpoint: (value) => (exchange) => exchange.endpoint === value,
  /** At or after a simulated time. */
  since: (value) => testOfTime(value, (atMs, limitMs) => atMs >= limitMs),
  /** Before a simulated time. */
  until: (value) => testOfTime(value, (atMs, limitMs) => atMs < limitMs),
  /** Searches the text of the reply: parsing a thousand bodies would take long. */
  message_id:
    (value) =>
    ({ status, reply }) =>
      status < 400 && reply?.includes(`"message_id":"${value}"`) === true,
};

function testOfTime(time: string, isMatch: (atMs: number, limitMs: number) => boolean): Test {
  const limitMs = Date.parse(time);
  return ({ atMs }) => isMatch(atMs, limitMs);
}

/** The names that words of a search can have. */
export const searchWords = Object.keys(testsByName);

/** Returns a test that is true for an exchange that every word of the search matches. */
export function matcherOf(search: string): Test {
  const tests = search.split(/\s+/).flatMap((word) => (word === '' ? [] : [testOf(word)]));
  return (exchange) => tests.every((matches) => matches(exchange));
}

function testOf(word: string): Test {
  const [, name = '', value = ''] = /^(\w+):(.*)$/.exec(word) ?? [];
  const makeTest = Object.hasOwn(testsByName, name) ? testsByName[name] : undefined;
  return makeTest?.(value) ?? containing(word.toLowerCase());
}

function containing(text: string): Test {
  return ({ path, query, body, reply }) =>
    [path, query, shortText(body), shortText(reply)].some((part) =>
      part?.toLowerCase().includes(text),
    );
}
