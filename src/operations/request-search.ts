/**
 * Finds requests by words such as `to:+12025550164 status:429`; a word without a name is looked for
 * in the path and the bodies.
 */
import type { RecordedExchange } from '../recording/recorded-exchange.ts';
import { fieldOf, shortText } from './request-views.ts';

type Test = (exchange: RecordedExchange) => boolean;

const named: Readonly<Record<string, (value: string) => Test>> = {
  to: (value) => (exchange) => fieldOf(exchange.body, 'to') === value,
  /** `4xx` matches a hundred statuses. */
  status: (value) => {
    const digits = value.replace(/x+$/i, '');
    return ({ status }) => String(status).startsWith(digits) && value.length === 3;
  },
  request_id: (value) => (exchange) => fieldOf(exchange.body, 'request_id') === value,
  /** The id of a key, or the start of its text, as far as it may be shown. */
  key:
    (value) =>
    ({ keyId, shownKey }) =>
      keyId === value || (keyId !== undefined && value !== '' && shownKey.startsWith(value)),
  account:
    (value) =>
    ({ accountId, accountName }) =>
      accountId === value || accountName === value,
  endpoint: (value) => (exchange) => exchange.endpoint === value,
  /** Simulated times: from the one on, and before the other. */
  since: (value) => bySide(value, (atMs, limitMs) => atMs >= limitMs),
  until: (value) => bySide(value, (atMs, limitMs) => atMs < limitMs),
  /** Compares texts: parsing a thousand bodies for one message would take long. */
  message_id:
    (value) =>
    ({ status, reply }) =>
      status < 400 && reply?.includes(`"message_id":"${value}"`) === true,
};

function bySide(time: string, isIn: (atMs: number, limitMs: number) => boolean): Test {
  const limitMs = Date.parse(time);
  return ({ atMs }) => isIn(atMs, limitMs);
}

export const searchWords = Object.keys(named);

/** True for an exchange that every word of the search matches. */
export function matcherOf(search: string): Test {
  const tests = search.split(/\s+/).flatMap((word) => (word === '' ? [] : [testOf(word)]));
  return (exchange) => tests.every((matches) => matches(exchange));
}

function testOf(word: string): Test {
  const [, name = '', value = ''] = /^(\w+):(.*)$/.exec(word) ?? [];
  const test = Object.hasOwn(named, name) ? named[name] : undefined;
  return test?.(value) ?? containing(word.toLowerCase());
}

function containing(text: string): Test {
  return ({ path, query, body, reply }) =>
    [path, query, shortText(body), shortText(reply)].some((part) =>
      part?.toLowerCase().includes(text),
    );
}
