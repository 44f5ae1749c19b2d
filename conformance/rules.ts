/**
 * The harness's own ledger: every rule of the document with its id and sentence, every gap with its
 * name. Transcribed from `docs/rules.md`; a test compares the two. So reports can quote rules
 * without reading a file of the product.
 */

export interface Rule {
  readonly id: string;
  readonly sentence: string;
}

export interface Assumption {
  readonly name: string;
  /** What the document leaves open. */
  readonly open: string;
  /** The answers that a real service might give, default first. */
  readonly answers: string;
}

export const rules = [
  {
    id: 'SVC-1',
    sentence:
      "A message goes out through a SIM attached to the account, or through the shared platform pool when the account has no connected SIM of its own; the pool number shown on the dashboard's Send page is then used as `from`.",
  },
  {
    id: 'SVC-2',
    sentence:
      'Queuing is asynchronous: send answers when the message is queued, not when it is sent.',
  },
  {
    id: 'SVC-3',
    sentence:
      'A paired SIM picks up queued work within about 20 s; status cannot change faster than that.',
  },
  { id: 'SVC-4', sentence: 'All bodies are JSON.' },
  {
    id: 'RES-1',
    sentence:
      'A Message body has exactly seven fields: `status`, `message_id`, `request_id`, `device_id`, `from_number`, `to`, `created_at`.',
  },
  {
    id: 'RES-2',
    sentence: '`message_id` and `device_id` are UUIDs; `from_number` and `to` are E.164.',
  },
  {
    id: 'RES-3',
    sentence:
      "`request_id` echoes the caller's key; it is the empty string when none was supplied.",
  },
  { id: 'RES-4', sentence: '`created_at` is ISO 8601 UTC with milliseconds and a trailing `Z`.' },
  {
    id: 'RES-5',
    sentence: '`status` is one of `queued`, `sending`, `sent`, `delivered`, `failed`.',
  },
  { id: 'RES-6', sentence: '`device_id` is the SIM the message is assigned to.' },
  { id: 'STATE-1', sentence: 'An accepted send creates the message in `queued`.' },
  { id: 'STATE-2', sentence: '`queued` becomes `sending` when the device picks the work up.' },
  {
    id: 'STATE-3',
    sentence:
      '`sending` becomes `sent`, `sent` becomes `delivered`; no state is skipped and none is revisited.',
  },
  { id: 'STATE-4', sentence: 'A message that is not yet final may end in `failed`.' },
  { id: 'STATE-5', sentence: '`delivered` and `failed` are final: nothing follows them.' },
  { id: 'SEND-1', sentence: '`from_number` is accepted as an equivalent alias of `from`.' },
  { id: 'SEND-2', sentence: '`to`, `from` and `message` are required; `to` and `from` are E.164.' },
  { id: 'SEND-3', sentence: 'A new message: 202 with the Message body, `status` `queued`.' },
  {
    id: 'SEND-4',
    sentence:
      "The same `request_id` again within 24 h: 200 with a body identical to the original 202 body, byte for byte, whatever the message's status has become; no second message exists.",
  },
  {
    id: 'SEND-5',
    sentence: 'A field that fails validation: 400, and the body identifies the failing field.',
  },
  { id: 'SEND-6', sentence: '`message` has at most 1,600 characters.' },
  {
    id: 'SEND-7',
    sentence:
      '`send_at` is ISO 8601 (UTC), must be in the future, and holds the message until then; absent, the message is sent immediately.',
  },
  {
    id: 'READ-1',
    sentence:
      "`GET /api/v1/sms/<message_id>/` of the caller's own message: 200 with the Message body and the current `status`.",
  },
  {
    id: 'READ-2',
    sentence:
      "An unknown id and another account's id are both 404, and indistinguishable: they differ by no more than two unknown ids differ from each other (services behind a CDN vary headers per request).",
  },
  { id: 'READ-3', sentence: 'Reading is not rate-limited.' },
  { id: 'AUTH-1', sentence: 'Every API request carries `Authorization: Bearer <API_KEY>`.' },
  {
    id: 'AUTH-2',
    sentence:
      'Keys are created with a name chosen by the user; the full key is displayed exactly once, at creation.',
  },
  {
    id: 'AUTH-3',
    sentence:
      "A missing, wrong or revoked key: 401 with code `auth_invalid_keyy` (the document's spelling).",
  },
  {
    id: 'AUTH-4',
    sentence:
      'A sender number not registered to any SIM of the account: 403 `from_number_not_found`.',
  },
  {
    id: 'AUTH-5',
    sentence:
      "A number that exists but that the account may not use: 403 `from_number_access_deniedd` (the document's spelling).",
  },
  {
    id: 'AUTH-6',
    sentence:
      'Rate limits are keyed by user for authenticated calls and by client IP for unauthenticated ones.',
  },
  { id: 'ERR-1', sentence: 'The monthly SMS limit of the plan reached: 402 `quota_exceeded`.' },
  { id: 'ERR-2', sentence: 'The SIM behind `from` deactivated: 503 `device_inactive`.' },
  {
    id: 'ERR-3',
    sentence:
      '429: header `Retry-After` is the number of seconds until a request would succeed. It is authoritative: after that wait the next request passes, and a wait one second shorter would not have been enough.',
  },
  {
    id: 'ERR-4',
    sentence:
      "429: the body is an object with `detail`, a human-readable message that states the expected wait in seconds: a number that, rounded up to whole seconds, is the header's.",
  },
  {
    id: 'LIMIT-1',
    sentence:
      '`POST /api/v1/sms/send/`: 120 per minute, per account whatever the number of its SIMs or keys.',
  },
  { id: 'LIMIT-2', sentence: '`POST /api/sms/send/`: 120 per minute.' },
  { id: 'LIMIT-3', sentence: '`POST /api/external/send/`: 120 per minute.' },
  { id: 'LIMIT-4', sentence: '`GET /api/v1/sms/received/`: 120 per minute.' },
  { id: 'LIMIT-5', sentence: '`GET /api/devices/<id>/tasks/`: 60 per minute.' },
  {
    id: 'LIMIT-6',
    sentence: '`GET /api/v1/sms/<id>/` and `GET /api/v1/account/stats/` are not rate-limited.',
  },
  { id: 'LIMIT-7', sentence: 'Limits are per endpoint: spending one leaves the others whole.' },
  {
    id: 'VER-1',
    sentence:
      'The version is in the path prefix `/api/v1/`; dashboard send, external send and device tasks have no version prefix.',
  },
] as const satisfies readonly Rule[];

export type RuleId = (typeof rules)[number]['id'];

export const assumptions = [
  {
    name: 'limiterRefill',
    open: 'how "N per minute" refills',
    answers:
      '`sliding`: a bucket of N tokens, each token comes back exactly 60 s after it was spent, so no 60 s window ever holds more than N and none is refused below N · `continuous`: N/60 tokens a second, the classic token bucket · `interval`: all N one minute after the first of them was spent · `interval_aligned`: all N at each full minute of the clock. All four are one token bucket with four ways to refill; `Retry-After` is sufficient and tight in each',
  },
  {
    name: 'refusedSpendsToken',
    open: 'whether a 429 counts',
    answers: '`no` · `yes`',
  },
  {
    name: 'errorsSpendToken',
    open: 'whether 400, 401 (by IP), 402, 403, 503 count',
    answers: '`yes` · `no`',
  },
  {
    name: 'failedRequestId',
    open: 'is the `request_id` of a refused send used up',
    answers: '`free` · `burned`',
  },
  {
    name: 'gateOrder',
    open: 'order of the checks',
    answers:
      '`replay_first`: authenticate, throttle, parse, replay, validate, sender, device, quota · `validate_first`: replay after validate · `quota_before_sender`. A replay must still be answered when its `send_at` has meanwhile passed, its SIM was deactivated or the quota is spent: hence the default.',
  },
  {
    name: 'bothSenderFields',
    open: '`from` and `from_number` both present',
    answers: '`from_wins` · `alias_wins` · `reject` · `reject_if_different`',
  },
  {
    name: 'replayScope',
    open: 'whose `request_id`',
    answers: '`account` · `api_key`',
  },
  {
    name: 'replayDifferentBody',
    open: 'same key, another body',
    answers: '`return_original` · `conflict` (409)',
  },
  {
    name: 'replayAcrossEndpoints',
    open: 'do dashboard and external send share the keys of v1 send',
    answers: '`shared` · `separate`',
  },
  {
    name: 'replaySpends',
    open: 'what a replay costs',
    answers: '`throttle` (a token, no quota) · `nothing`',
  },
  {
    name: 'errorBody',
    open: 'body of errors other than 429',
    answers:
      '`code_detail`: `{"code", "detail"}` · `field_map`: 400 as `{"<field>": ["…"]}`, others `code_detail` · `nested`: `{"error": {"code", "message"}}`',
  },
  {
    name: 'notFoundBody',
    open: 'body of the 404',
    answers: '`detail_only`: `{"detail": "Not found."}` · `code_detail` with `not_found`',
  },
  {
    name: 'malformedJson',
    open: 'body that is no JSON object',
    answers: '`detail_400`: 400 `{"detail"}` · `code_400`',
  },
  {
    name: 'emptyBody',
    open: 'a send without a body',
    answers: '`malformed` · `no_fields`: read as an object without fields',
  },
  {
    name: 'contentType',
    open: 'body not declared as JSON',
    answers: '`reject_415` · `ignore`',
  },
  {
    name: 'trailingSlash',
    open: 'path without the last slash',
    answers: '`not_found` · `redirect` (301) · `served`',
  },
  {
    name: 'pathCase',
    open: 'capitals in a path',
    answers: '`exact` (404) · `any`',
  },
  {
    name: 'bearerSpace',
    open: 'what may stand between `Bearer` and the key',
    answers: '`any` (spaces and tabs) · `one` (space)',
  },
  {
    name: 'methodNotAllowed',
    open: 'another method on a known path',
    answers: '`405` with `Allow` · `404`',
  },
  {
    name: 'headMethod',
    open: 'HEAD where GET is known',
    answers: '`as_get` · `refused`',
  },
  {
    name: 'keyCheck',
    open: 'what is looked at before the key',
    answers: '`after_method`: path and method · `before_method`: the path · `first`: nothing',
  },
  {
    name: 'unknownFields',
    open: 'fields the document does not name',
    answers: '`ignore` · `reject`',
  },
  {
    name: 'nullFields',
    open: '`null` for an optional field',
    answers: '`reject` · `absent` · a list of the fields for which it counts as absent',
  },
  {
    name: 'typeCoercion',
    open: 'a number or boolean where the table says string',
    answers: '`reject` · `coerce` (as its text) · `numbers` (no booleans)',
  },
  {
    name: 'validationScope',
    open: 'which failing fields a 400 names',
    answers: '`first` · `all`',
  },
  {
    name: 'fieldOrder',
    open: 'in which order failing fields are named',
    answers: '`to,from,message,request_id,send_at,unknown` · any order of these',
  },
  {
    name: 'senderFieldName',
    open: 'the name of a failing sender that was given as `from_number`',
    answers: '`as_given` · `from`',
  },
  {
    name: 'sendAtFormats',
    open: 'which ISO 8601 forms are read',
    answers:
      '`rfc3339` · `iso8601` (basic format, week and ordinal dates, decimal comma, `24:00`) · a list of forms',
  },
  {
    name: 'emptySendAt',
    open: '`send_at: ""`',
    answers: '`reject` · `absent`',
  },
  {
    name: 'pathIdForm',
    open: 'upper-case or hyphenless UUIDs in a path',
    answers: '`canonical` (others 404) · `any` · `any_case` (capitals alone)',
  },
  {
    name: 'emptyRequestId',
    open: '`request_id: ""`',
    answers: '`none_supplied` · `reject`',
  },
  {
    name: 'requestIdMaxLength',
    open: 'longest `request_id`',
    answers: '255 · any number',
  },
  {
    name: 'requestIdUnit',
    open: 'what one character of a `request_id` is',
    answers: '`code_points` · `utf16_units` · `bytes`',
  },
  {
    name: 'characterUnit',
    open: 'what one of the 1,600 characters is',
    answers: '`code_points` · `utf16_units` · `graphemes`',
  },
  {
    name: 'blankMessage',
    open: '`""` or white space only',
    answers: '`reject` · `accept` · a list of the kinds of characters that are blank',
  },
  {
    name: 'numberCheck',
    open: 'how strictly E.164 is checked',
    answers: '`possible` (shape, known country code, possible length) · `shape` · `valid`',
  },
  {
    name: 'numberMinDigits',
    open: 'fewest digits of a number',
    answers: '2 · any number to 15',
  },
  {
    name: 'sendAtZone',
    open: 'offsets other than UTC',
    answers:
      '`utc_only` (`Z` or `+00:00`) · `any_offset` · `naive_is_utc` · `any` (offsets and naive)',
  },
  {
    name: 'sendAtMaxAheadDays',
    open: 'how far ahead',
    answers: '`unlimited` · any number',
  },
  {
    name: 'heldStatus',
    open: 'status shown while `send_at` holds',
    answers: '`queued` · `scheduled`',
  },
  {
    name: 'progressPace',
    open: 'how fast sending → sent → delivered',
    answers:
      "`per_poll`: each step is reported at the device's next poll, so that no status changes twice within one poll interval (SVC-3 taken literally) · `own_delay`: sampled delays",
  },
  {
    name: 'pollIntervalSeconds',
    open: "the device's poll period",
    answers: '20, phase drawn per device · any number',
  },
  {
    name: 'sendsPerPoll',
    open: 'how many messages one poll picks up',
    answers: '`all` (so that SVC-3 holds under any load) · any number',
  },
  {
    name: 'failsFrom',
    open: 'states a message may fail from',
    answers: '`queued,sending,sent` · any subset',
  },
  {
    name: 'failureRate',
    open: 'share of messages that fail unprompted',
    answers: '0 · 0…1',
  },
  {
    name: 'deactivation',
    open: 'queued work of a SIM that is deactivated',
    answers: '`fails` · `stays_queued`',
  },
  {
    name: 'disconnectedSim',
    open: "sending from the account's own SIM that is not connected",
    answers:
      '`queues` (waits for reconnection) · `device_inactive` · `access_denied` · `pool` (goes out through the pool, SVC-1)',
  },
  {
    name: 'foreignNumber',
    open: "`from` is another account's number",
    answers: '`access_denied` · `not_found`',
  },
  {
    name: 'poolBesideOwnSim',
    open: 'pool number while the account has a connected SIM',
    answers: '`access_denied` · `allow` · `not_found`',
  },
  {
    name: 'monthlyQuota',
    open: "plan's size",
    answers: '10,000 · any number · `unlimited`',
  },
  {
    name: 'quotaUnit',
    open: 'what the quota counts',
    answers: '`messages` · `segments`',
  },
  {
    name: 'quotaMonth',
    open: 'when it starts again',
    answers: '`calendar_utc` · `rolling_30_days`',
  },
  {
    name: 'quotaRefund',
    open: 'does a failed message give it back',
    answers: '`no` · `yes`',
  },
  {
    name: 'messageRetention',
    open: 'how long a message can be read',
    answers:
      '`forever` (as far as `--max-messages` allows) · any number of days after its last change; then 404',
  },
  {
    name: 'keyFormat',
    open: "key's look",
    answers: '`smst_` + 40 letters and digits · any prefix',
  },
  {
    name: 'dashboardSendShape',
    open: 'body and reply',
    answers: '`same_as_v1`',
  },
  {
    name: 'externalSendShape',
    open: 'body and reply',
    answers: '`same_as_v1`',
  },
  {
    name: 'receivedShape',
    open: 'the list of inbound messages',
    answers:
      '`page`: `{"count","next","previous","results":[{"message_id","device_id","from_number","to","message","received_at"}]}`, newest first, `?page`, `?page_size` (default 50, at most 200) · `array`',
  },
  {
    name: 'receivedQuery',
    open: '`page` or `page_size` of another value',
    answers:
      '`reject` (400) · `not_found`: 404 for a page, the default for a size · `ignore`: neither is read',
  },
  {
    name: 'queryForms',
    open: 'how a query may be written',
    answers: '`lenient` · `strict` · a list of forms',
  },
  {
    name: 'tasksShape',
    open: 'what a polling device gets',
    answers:
      '`tasks`: `{"tasks":[{"message_id","to","from_number","message"}]}`; being handed out is the pickup · `array`',
  },
  {
    name: 'tasksAccess',
    open: 'who may poll',
    answers: "`owner`: a key of the device's account; otherwise 404",
  },
  {
    name: 'statsShape',
    open: 'account statistics',
    answers:
      '`counts`: messages by status, quota used and limit, SIMs connected, messages received',
  },
  {
    name: 'unauthenticatedThrottle',
    open: "when an unauthenticated call meets its IP's limit",
    answers: '`then_429` (401 until the bucket is empty, then 429) · `always_401`',
  },
  {
    name: 'clientIp',
    open: 'whose address',
    answers: '`peer` · `x_forwarded_for` (only when asked for)',
  },
  {
    name: 'replyTemplates',
    open: 'the wording of replies whose shape is none of the above',
    answers:
      '`none` · any templates by reply: a body with placeholders such as `{field}`, headers, and a status where the document states none',
  },
] as const satisfies readonly Assumption[];

export type AssumptionName = (typeof assumptions)[number]['name'];

/** The sentence of a rule, or the gap of an assumption. */
export function sentenceOf(id: string): string {
  const rule = rules.find((one) => one.id === id);
  if (rule !== undefined) return rule.sentence;
  return assumptions.find((one) => one.name === id)?.open ?? '';
}
