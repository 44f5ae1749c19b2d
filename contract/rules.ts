/**
 * The rules, in the words of `docs/rules.md`: what the document states about the service, and what
 * it asks of those who call it. A test compares the two. Also the form in which an assumption
 * declares what the rules leave open.
 */
const sentences = {
  'SVC-1':
    "A message goes out through a SIM attached to the account, or through the shared platform pool when the account has no connected SIM of its own; the pool number shown on the dashboard's Send page is then used as `from`.",
  'SVC-2': 'Queuing is asynchronous: send answers when the message is queued, not when it is sent.',
  'SVC-3':
    'A paired SIM picks up queued work within about 20 s; status cannot change faster than that.',
  'SVC-4': 'All bodies are JSON.',
  'RES-1':
    'A Message body has exactly seven fields: `status`, `message_id`, `request_id`, `device_id`, `from_number`, `to`, `created_at`.',
  'RES-2': '`message_id` and `device_id` are UUIDs; `from_number` and `to` are E.164.',
  'RES-3': "`request_id` echoes the caller's key; it is the empty string when none was supplied.",
  'RES-4': '`created_at` is ISO 8601 UTC with milliseconds and a trailing `Z`.',
  'RES-5': '`status` is one of `queued`, `sending`, `sent`, `delivered`, `failed`.',
  'RES-6': '`device_id` is the SIM the message is assigned to.',
  'STATE-1': 'An accepted send creates the message in `queued`.',
  'STATE-2': '`queued` becomes `sending` when the device picks the work up.',
  'STATE-3':
    '`sending` becomes `sent`, `sent` becomes `delivered`; no state is skipped and none is revisited.',
  'STATE-4': 'A message that is not yet final may end in `failed`.',
  'STATE-5': '`delivered` and `failed` are final: nothing follows them.',
  'SEND-1': '`from_number` is accepted as an equivalent alias of `from`.',
  'SEND-2': '`to`, `from` and `message` are required; `to` and `from` are E.164.',
  'SEND-3': 'A new message: 202 with the Message body, `status` `queued`.',
  'SEND-4':
    "The same `request_id` again within 24 h: 200 with a body identical to the original 202 body, byte for byte, whatever the message's status has become; no second message exists.",
  'SEND-5': 'A field that fails validation: 400, and the body identifies the failing field.',
  'SEND-6': '`message` has at most 1,600 characters.',
  'SEND-7':
    '`send_at` is ISO 8601 (UTC), must be in the future, and holds the message until then; absent, the message is sent immediately.',
  'READ-1':
    "`GET /api/v1/sms/<message_id>/` of the caller's own message: 200 with the Message body and the current `status`.",
  'READ-2':
    "An unknown id and another account's id are both 404, and indistinguishable: they differ by no more than two unknown ids differ from each other (services behind a CDN vary headers per request).",
  'READ-3': 'Reading is not rate-limited.',
  'AUTH-1': 'Every API request carries `Authorization: Bearer <API_KEY>`.',
  'AUTH-2':
    'Keys are created with a name chosen by the user; the full key is displayed exactly once, at creation.',
  'AUTH-3':
    "A missing, wrong or revoked key: 401 with code `auth_invalid_keyy` (the document's spelling).",
  'AUTH-4':
    'A sender number not registered to any SIM of the account: 403 `from_number_not_found`.',
  'AUTH-5':
    "A number that exists but that the account may not use: 403 `from_number_access_deniedd` (the document's spelling).",
  'AUTH-6':
    'Rate limits are keyed by user for authenticated calls and by client IP for unauthenticated ones.',
  'ERR-1': 'The monthly SMS limit of the plan reached: 402 `quota_exceeded`.',
  'ERR-2': 'The SIM behind `from` deactivated: 503 `device_inactive`.',
  'ERR-3':
    '429: header `Retry-After` is the number of seconds until a request would succeed. It is authoritative: after that wait the next request passes, and a wait one second shorter would not have been enough.',
  'ERR-4':
    "429: the body is an object with `detail`, a human-readable message that states the expected wait in seconds: a number that, rounded up to whole seconds, is the header's.",
  'LIMIT-1':
    '`POST /api/v1/sms/send/`: 120 per minute, per account whatever the number of its SIMs or keys.',
  'LIMIT-2': '`POST /api/sms/send/`: 120 per minute.',
  'LIMIT-3': '`POST /api/external/send/`: 120 per minute.',
  'LIMIT-4': '`GET /api/v1/sms/received/`: 120 per minute.',
  'LIMIT-5': '`GET /api/devices/<id>/tasks/`: 60 per minute.',
  'LIMIT-6': '`GET /api/v1/sms/<id>/` and `GET /api/v1/account/stats/` are not rate-limited.',
  'LIMIT-7': 'Limits are per endpoint: spending one leaves the others whole.',
  'VER-1':
    'The version is in the path prefix `/api/v1/`; dashboard send, external send and device tasks have no version prefix.',
} as const;

export type RuleId = keyof typeof sentences;

export interface Rule {
  readonly id: RuleId;
  readonly sentence: string;
}

export const rules = Object.entries(sentences).map(([id, sentence]) => ({
  id,
  sentence,
})) as readonly Rule[];

/**
 * `must`: the document demands it, or it follows directly. `should`: the document recommends it, or
 * it is common practice; the referee reports a breach only as advice.
 */
export type Level = 'must' | 'should';

const demands = {
  'CLIENT-1': [
    'must',
    "waits at least `Retry-After` (seconds, or an HTTP date) after a 429 before it retries the same intent, or the same GET with the same key. Measured on the service's clock from the moment of the 429; one millisecond early is early. A send of the same id that was on its way (another connection, within `--grace` of the 429) is not a retry.",
  ],
  'CLIENT-2': [
    'should',
    'sends nothing else that the same 429 covers (same endpoint, same account or address) during that wait. Requests that arrive within `--grace` of the 429 were in flight and do not count.',
  ],
  'CLIENT-3': [
    'must',
    'keeps the `request_id` of an intent when it retries after an unseen reply, or after a 5xx that is not a documented refusal; a retry under a new id can send twice. After a *seen* refusal (429, 503 `device_inactive`, 4xx) nothing was queued, so a new id is not a mistake.',
  ],
  'CLIENT-4': [
    'should',
    'gives every send a `request_id`, so that an unseen reply can be retried at all.',
  ],
  'CLIENT-5': [
    'must',
    'never lets one intent be accepted twice. A message that the client has read as `failed` may be sent again. Not judged where the service broke the replay (above).',
  ],
  'CLIENT-6': [
    'must',
    'does not reuse a `request_id` for another intent within 24 hours: the second message would silently not be sent.',
  ],
  'CLIENT-7': [
    'must',
    'does not retry with a `request_id` that is more than 24 hours old: the service no longer knows it.',
  ],
  'CLIENT-8': [
    'should',
    'does not repeat unchanged what was refused for good: 400, 401, 402 (within the month), 403, 404, 405, 415.',
  ],
  'CLIENT-9': [
    'must',
    'gives up no intent after an unseen reply, a 429 or a 5xx without saying so (`reported: "failed"`, or `"unknown"` if one of its replies was unseen). If a similar send to the same recipient follows, the text says that it may have been sent twice. Not judged in a partial record.',
  ],
  'CLIENT-10': [
    'must',
    'reports truthfully: what it reports as accepted was accepted, what it reports as `delivered` was delivered, what it reports as failed was not accepted; what was accepted has the recipient, sender, text and `send_at` of its line; a line without any send is `failed` or `unknown`. Needs an intents file.',
  ],
  'CLIENT-11': ['should', 'polls one message no faster than every 15 seconds.'],
  'CLIENT-12': ['should', 'stops polling a message that it has seen `delivered` or `failed`.'],
  'CLIENT-13': ['should', 'polls received messages no faster than every 15 seconds.'],
  'CLIENT-14': [
    'should',
    'makes at most five attempts at one intent within a minute, and spreads attempts of different intents: not more than half of the retries of 10 or more intents arrive within 100 ms of each other.',
  ],
  'CLIENT-15': ['should', 'sends what validation accepts: no 400 by its own body.'],
  'CLIENT-16': [
    'must',
    'sends its key in the `Authorization` header alone: never in a path, a query or a body.',
  ],
  'CLIENT-17': ['should', 'waits at least `Retry-After` after a 503 that carries it.'],
} as const satisfies Readonly<Record<string, readonly [Level, string]>>;

export type ClientRuleId = keyof typeof demands;

type MustRuleId = {
  [Id in ClientRuleId]: (typeof demands)[Id][0] extends 'must' ? Id : never;
}[ClientRuleId];

/** What a client does that breaks a rule, in a few words. */
export const breaches: Readonly<Record<MustRuleId, string>> = {
  'CLIENT-1': 'a retry before the end of its wait',
  'CLIENT-3': 'a retry under a new request_id',
  'CLIENT-5': 'one message accepted twice',
  'CLIENT-6': 'a request_id used for another message',
  'CLIENT-7': 'a retry with an expired request_id',
  'CLIENT-9': 'an intent given up after a failure',
  'CLIENT-10': 'a report that is not true',
  'CLIENT-16': 'a key outside the Authorization header',
};

export interface ClientRule {
  readonly id: ClientRuleId;
  readonly level: Level;
  /** What the client does. */
  readonly sentence: string;
}

export const clientRules = Object.entries(demands).map(([id, [level, sentence]]) => ({
  id,
  level,
  sentence,
})) as readonly ClientRule[];

/**
 * The form of an assumption's declaration: what the document leaves open, and each answer that a
 * real service might give. The schema, the pages, the harness's ledger and the notes in the OpenAPI
 * document follow from it.
 */
export interface Declaration {
  /** The question that the document leaves open. */
  readonly open: string;
  /** A remark that applies to all answers. */
  readonly note?: string;
  /** The named answers with what each does; the default first, unless `default` says otherwise. */
  readonly answers: Readonly<Record<string, string>>;
  /** Numbers that are answers too: whole ones, unless `fractions` is set. */
  readonly range?: { readonly min: number; readonly max: number; readonly fractions?: boolean };
  readonly default?: string | number;
  /** Why the default is the default. */
  readonly why: string;
  /** The rules that leave the question open. */
  readonly rules: readonly RuleId[];
  /** The endpoints whose description in the OpenAPI document names the assumption. */
  readonly endpoints?: readonly string[];
}
