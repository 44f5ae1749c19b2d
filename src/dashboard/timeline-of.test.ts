import { expect, test } from 'vitest';
import { type Attempt, timelineOf } from './page/pages/timeline-of.ts';

const at = '2026-01-01T00:00:00.000Z';
const account = 'acme';

function exchange(number: number, more: Partial<Attempt> = {}): Attempt {
  return {
    number,
    at,
    answered_at: at,
    seen: true,
    account_id: account,
    account,
    endpoint: 'send',
    method: 'POST',
    path: '/api/v1/sms/send/',
    request_id: null,
    status: 202,
    retry_after: null,
    retry_after_ms: null,
    message_id: null,
    message_status: null,
    ...more,
  };
}

function intent(...exchanges: number[]) {
  const known = { account_id: account, endpoint: 'send', to: '+12025550123', accepted: 1 };
  return { ...known, request_id: `order-${exchanges[0]}`, attributable: true, exchanges };
}

const numbers = (...[details, number]: Parameters<typeof timelineOf>) =>
  timelineOf(details, number)?.attempts.map((attempt) => attempt.number);

test('the timeline of a send has all attempts at its intent, and no other', () => {
  const details = {
    exchanges: [1, 2, 3, 4].map((number) => exchange(number)),
    intents: [intent(1, 3), intent(2, 4)],
  };
  expect(numbers(details, 3)).toEqual([1, 3]);
  expect(timelineOf(details, 4)).toMatchObject({ requestId: 'order-2', to: '+12025550123' });
  expect(timelineOf(details, 5)).toBeUndefined();
});

test('the timeline of a GET has the same GET of the same caller', () => {
  const poll = { method: 'GET', path: '/api/v1/sms/a/', endpoint: 'read' };
  const details = {
    exchanges: [
      exchange(1, poll),
      exchange(2, { ...poll, account_id: 'globex' }),
      exchange(3, { ...poll, path: '/api/v1/sms/b/' }),
      exchange(4, poll),
    ],
    intents: [],
  };
  expect(numbers(details, 4)).toEqual([1, 4]);
});

test('of a thousand polls, the hundred around one are shown', () => {
  const poll = { method: 'GET', path: '/api/v1/sms/a/', endpoint: 'read' };
  const exchanges = Array.from({ length: 1_000 }, (_, index) => exchange(index + 1, poll));
  const details = { exchanges, intents: [] };
  expect(numbers(details, 500)).toEqual(exchanges.slice(449, 549).map(({ number }) => number));
  expect(numbers(details, 2)?.[0]).toBe(1);
  expect(numbers(details, 999)?.at(-1)).toBe(1_000);
  expect(timelineOf(details, 1)?.omitted).toBe(900);
});
