/** Assumptions about rate limits and replays. */
import { sendEndpoints } from '../limits.ts';
import type { Declaration } from './declaration.ts';

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
