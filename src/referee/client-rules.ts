/**
 * The ledger of the client rules: what the document asks of those who call the service. Transcribed
 * from `docs/rules.md` and held equal to it by a test.
 * `must`: the document's own demand, or a plain consequence of it. `should`: its recommendation, or
 * common practice; breaking it is advice.
 */
export type Level = 'must' | 'should';

export interface ClientRule {
  readonly id: string;
  readonly level: Level;
  /** What the client does. */
  readonly sentence: string;
}

export const clientRules = [
  {
    id: 'CLIENT-1',
    level: 'must',
    sentence:
      "waits at least `Retry-After` after a 429 before it retries the same intent, or the same GET with the same key. Measured on the service's clock from the moment of the 429; one millisecond early is early.",
  },
  {
    id: 'CLIENT-2',
    level: 'should',
    sentence:
      'sends nothing else that the same 429 covers (same endpoint, same account or address) during that wait. Requests that arrive within `--grace` of the 429 were in flight and do not count.',
  },
  {
    id: 'CLIENT-3',
    level: 'must',
    sentence:
      'keeps the `request_id` of an intent when it retries after an unseen reply, a 429 or a 5xx; a retry under a new id can send twice.',
  },
  {
    id: 'CLIENT-4',
    level: 'should',
    sentence: 'gives every send a `request_id`, so that an unseen reply can be retried at all.',
  },
  {
    id: 'CLIENT-5',
    level: 'must',
    sentence: 'never lets one intent be accepted twice.',
  },
  {
    id: 'CLIENT-6',
    level: 'must',
    sentence:
      'does not reuse a `request_id` for another intent within 24 hours: the second message would silently not be sent.',
  },
  {
    id: 'CLIENT-7',
    level: 'must',
    sentence:
      'does not retry with a `request_id` that is more than 24 hours old: the service no longer knows it.',
  },
  {
    id: 'CLIENT-8',
    level: 'should',
    sentence:
      'does not repeat unchanged what was refused for good: 400, 401, 402 (within the month), 403, 404.',
  },
  {
    id: 'CLIENT-9',
    level: 'must',
    sentence:
      'gives up no intent after an unseen reply, a 429 or a 5xx without saying so. Not judged in a partial record.',
  },
  {
    id: 'CLIENT-10',
    level: 'must',
    sentence:
      'reports truthfully: what it reports as accepted was accepted, what it reports as failed was not delivered. Needs an intents file.',
  },
  {
    id: 'CLIENT-11',
    level: 'should',
    sentence: 'polls one message no faster than every 15 seconds.',
  },
  {
    id: 'CLIENT-12',
    level: 'should',
    sentence: 'stops polling a message that it has seen `delivered` or `failed`.',
  },
  {
    id: 'CLIENT-13',
    level: 'should',
    sentence: 'polls received messages no faster than every 15 seconds.',
  },
  {
    id: 'CLIENT-14',
    level: 'should',
    sentence:
      'makes at most five attempts at one intent within a minute, and spreads attempts of different intents: not more than half of the retries of 10 or more intents arrive within 100 ms of each other.',
  },
  {
    id: 'CLIENT-15',
    level: 'should',
    sentence: 'sends what validation accepts: no 400 by its own body.',
  },
  {
    id: 'CLIENT-16',
    level: 'must',
    sentence:
      'sends its key in the `Authorization` header alone: never in a path, a query or a body.',
  },
] as const satisfies readonly ClientRule[];

export type ClientRuleId = (typeof clientRules)[number]['id'];
