/** Assumptions about rate limits, replays, devices, senders and the quota. */
import { sendEndpoints } from '../limits.ts';
import type { Declaration } from '../rules.ts';

export const limitsAndReplays = {
  limiterRefill: {
    open: 'how "N per minute" refills',
    answers: {
      sliding:
        'each token comes back exactly 60 s after it was spent, so no 60 s window ever holds more than N requests.',
      continuous: 'one token every 60/N s, up to N; in a minute after a pause, almost 2N can pass.',
      interval:
        'the first token spent from a full bucket starts a period of 60 s; at its end the bucket is full again.',
      interval_aligned: 'full again at each full minute of the clock.',
      sliding_counter:
        'two counters, of this minute of the clock and of the last one, which counts by the share of it that the sliding minute still covers, as several gateways do.',
    },
    why: 'it is the only one under which "N per minute" is true of every minute, and no caller is refused below N.',
    rules: ['LIMIT-1', 'ERR-3'],
  },
  refusedSpendsToken: {
    open: 'whether a 429 counts',
    answers: {
      no: 'a refusal costs no token, so waiting `Retry-After` is always enough, however many requests came in between.',
      yes: 'with `limiterRefill` `sliding`, `continuous` and `sliding_counter` a refusal can move the next pass further away; the two intervals are unaffected.',
    },
    why: '`Retry-After` is called authoritative (ERR-3), which is easiest to keep if an early request changes nothing.',
    rules: ['ERR-3'],
  },
  errorsSpendToken: {
    open: 'whether 400, 401 (by IP), 402, 403, 503 count',
    note: 'Likewise what the document does not show: 409, 415, and the 404 of tasks and of received messages.',
    answers: {
      yes: 'every request that passed the throttle has spent its token.',
      no: 'the token is returned if the reply is an error.',
    },
    why: 'a limiter runs before the work and does not know its result.',
    rules: ['LIMIT-1', 'AUTH-6'],
  },
  failedRequestId: {
    open: 'is the `request_id` of a refused send used up',
    answers: {
      free: 'it may be used again, as if it had never been seen.',
      burned: 'for 24 h the same `request_id` gets the same refusal again.',
    },
    why: 'SEND-4 promises replays of an original 202 body, which a refusal does not have.',
    rules: ['SEND-4'],
    endpoints: sendEndpoints,
  },
  gateOrder: {
    open: 'order of the checks',
    answers: {
      replay_first: 'authenticate, throttle, parse, replay, validate, sender, device, quota.',
      validate_first: 'the replay comes after the validation.',
      quota_before_sender:
        'as `replay_first`, but the quota is checked before the sender and the device: a send that fails both is 402, not 403 or 503.',
    },
    why: 'a replay answers with the original body (SEND-4), even if its `send_at` has passed, its SIM was deactivated, or the quota is used up.',
    rules: ['SEND-4', 'SEND-5'],
    endpoints: sendEndpoints,
  },
  bothSenderFields: {
    open: '`from` and `from_number` both present',
    answers: {
      from_wins: '`from` is taken.',
      alias_wins: '`from_number` is taken.',
      reject: '400.',
      reject_if_different: '400 unless they agree.',
    },
    why: "`from` is the field that the document's table names; the other is its alias (SEND-1).",
    rules: ['SEND-1'],
    endpoints: sendEndpoints,
  },
  replayScope: {
    open: 'whose `request_id`',
    answers: { account: 'all keys of an account share them.', api_key: 'each key has its own.' },
    why: 'a retry after a change of keys must not send twice.',
    rules: ['SEND-4'],
    endpoints: sendEndpoints,
  },
  replayDifferentBody: {
    open: 'same key, another body',
    answers: {
      return_original: '200 with the first reply; the new body is ignored.',
      conflict: '409 `request_id_conflict` if `to`, the sender, `message` or `send_at` differ.',
    },
    why: 'SEND-4 mentions only the same `request_id`.',
    rules: ['SEND-4'],
    endpoints: sendEndpoints,
  },
  replayAcrossEndpoints: {
    open: 'do dashboard and external send share the keys of v1 send',
    answers: {
      shared: 'a key used at one is a replay at the others.',
      separate: 'each endpoint has its own.',
    },
    why: 'the account must not send twice through any endpoint.',
    rules: ['SEND-4'],
    endpoints: sendEndpoints,
  },
  replaySpends: {
    open: 'what a replay costs',
    answers: {
      throttle: 'a token of the rate limit, but no quota.',
      nothing: 'replays are looked up before the throttle, and neither need nor spend a token.',
    },
    why: 'a replay is a request like any other, but creates no second message (SEND-4), so it uses no quota.',
    rules: ['SEND-4', 'LIMIT-1'],
    endpoints: sendEndpoints,
  },
} as const satisfies Readonly<Record<string, Declaration>>;

export const devicesAndQuota = {
  heldStatus: {
    open: 'status shown while `send_at` holds',
    answers: {
      queued: 'as for any waiting message.',
      scheduled: 'a sixth status, shown only by reads; the 202 body shows `queued` in both cases.',
    },
    why: 'the document has five statuses (RES-5) and an accepted send creates the message in `queued` (STATE-1).',
    rules: ['SEND-7', 'RES-5'],
    endpoints: ['read'],
  },
  progressPace: {
    open: 'how fast sending → sent → delivered',
    answers: {
      per_poll: "each step is reported at the device's next poll.",
      own_delay: 'each of the two steps follows after a delay of its own, drawn from 1 to 10 s.',
    },
    why: 'SVC-3 taken literally: no status changes twice within one poll interval.',
    rules: ['STATE-3', 'SVC-3'],
  },
  pollIntervalSeconds: {
    open: "the device's poll period",
    note: "Each SIM's phase is drawn from the seed.",
    answers: {},
    range: { min: 1, max: 86_400 },
    default: 20,
    why: '"within about 20 s" (SVC-3).',
    rules: ['SVC-3'],
  },
  sendsPerPoll: {
    open: 'how many messages one poll picks up',
    answers: { all: 'every message that waits.' },
    range: { min: 1, max: 1_000_000 },
    why: 'then SVC-3 holds under any load. With a number, waiting messages are picked up in the order of acceptance.',
    rules: ['SVC-3'],
    endpoints: ['tasks'],
  },
  failsFrom: {
    open: 'states a message may fail from',
    note: 'Separated by commas on the command line, a list in JSON; with an empty list messages never fail. It limits scripted fates, random failures and deactivation alike.',
    answers: {},
    why: '"a message that is not yet final may end in `failed`" (STATE-4).',
    rules: ['STATE-4'],
  },
  failureRate: {
    open: 'share of messages that fail unprompted',
    note: 'The messages and their states are drawn from the seed.',
    answers: {},
    range: { min: 0, max: 1, fractions: true },
    default: 0,
    why: 'a test should see a failure only if it asked for one.',
    rules: ['STATE-4'],
  },
  deactivation: {
    open: 'queued work of a SIM that is deactivated',
    answers: {
      fails: 'they fail at once, held messages included.',
      stays_queued: 'they wait until the SIM is active again.',
    },
    why: 'a caller learns that the message will not go out, as it would from the 503 of a new send (ERR-2).',
    rules: ['ERR-2'],
  },
  disconnectedSim: {
    open: "sending from the account's own SIM that is not connected",
    answers: {
      queues: 'it is accepted, and waits for the SIM to connect.',
      device_inactive: '503.',
      access_denied: '403 `from_number_access_deniedd`.',
      pool: "it goes out through the first number of the shared pool that is connected, active and allowed. `device_id` and `from_number` show the pool's SIM and number, in the 202 and in every read: the recipient sees this number, and the two fields never contradict each other. A replay is compared (`replayDifferentBody`) by the number that the caller had named. If the account has another connected SIM, or the pool has no such number, the message is queued as under `queues`: the pool is for accounts without a connected SIM (SVC-1).",
    },
    why: 'the document uses `device_inactive` only for a deactivated SIM, and queuing is asynchronous (SVC-2).',
    rules: ['SVC-1'],
    endpoints: sendEndpoints,
  },
  foreignNumber: {
    open: "`from` is another account's number",
    answers: {
      access_denied: '403 `from_number_access_deniedd`.',
      not_found: '403 `from_number_not_found`, as for a number that no SIM has.',
    },
    why: 'AUTH-5 is about a number that exists but that the account may not use.',
    rules: ['AUTH-5'],
  },
  poolBesideOwnSim: {
    open: 'pool number while the account has a connected SIM',
    answers: {
      access_denied: '403 `from_number_access_deniedd`.',
      allow: 'it is sent through the pool.',
    },
    why: 'the pool serves an account that has no connected SIM (SVC-1).',
    rules: ['SVC-1'],
  },
  monthlyQuota: {
    open: "plan's size",
    note: 'For an account whose world states no quota.',
    answers: { unlimited: 'no quota.' },
    range: { min: 0, max: 1_000_000_000 },
    default: 10_000,
    why: 'large enough for most tests, and small enough for a test to reach it.',
    rules: ['ERR-1'],
  },
  quotaUnit: {
    open: 'what the quota counts',
    answers: {
      messages: 'one for each message of any length.',
      segments: 'the SMS segments that the text takes.',
    },
    why: 'the service queues messages; the document names segments only to explain the 1,600 characters.',
    rules: ['ERR-1'],
    endpoints: ['stats'],
  },
  quotaMonth: {
    open: 'when it starts again',
    answers: {
      calendar_utc: 'at the first millisecond of the UTC month.',
      rolling_30_days: 'each message counts for 30 × 24 h.',
    },
    why: 'the document calls the limit monthly, and gives its times in UTC.',
    rules: ['ERR-1'],
    endpoints: ['stats'],
  },
  quotaRefund: {
    open: 'does a failed message give it back',
    answers: {
      no: 'every accepted message counts.',
      yes: 'messages that are `failed` do not count.',
    },
    why: 'the quota is checked at acceptance (402), not later.',
    rules: ['ERR-1'],
    endpoints: ['stats'],
  },
  messageRetention: {
    open: 'how long a message can be read',
    note: 'In days after the last change of the message. Then a read is 404, and the control port neither lists nor counts it; at exactly that age it is still found. A message that is not final can always be read. Quota and statistics still count what can no longer be read, and a replay is answered for its 24 hours.',
    answers: { forever: 'as far as [`--max-messages`](bounds.md#the-world) allows.' },
    range: { min: 1, max: 36_500 },
    why: 'the document states no end.',
    rules: ['READ-1'],
    endpoints: ['read'],
  },
} as const satisfies Readonly<Record<string, Declaration>>;
