/**
 * Wrong limits: off by one, on the wrong caller or endpoint, or wrong over several minutes. Rules:
 * LIMIT-1 to LIMIT-7, AUTH-6, READ-3.
 */
import { limitWindowMs } from '#contract/limits.ts';
import { addressCaller } from '#src/sim/limiter/limiter.ts';
import { handling, queueDespiteRefusal, reading, refusing, replying } from './combinators.ts';
import { because, breaking, type DefectRow, type Planted } from './planted.ts';
import {
  countingAs,
  countingIn,
  type LimitedCall,
  limitingReads,
  refusingWhileEmpty,
  spending,
  type WrongBucket,
  withBuckets,
  withLimit,
  withMinuteOf,
} from './wrong-limiters.ts';

/** A window that its first request opens; that request counts only in the first window. */
function oneMoreInLaterWindows(limit: number): WrongBucket {
  let startMs: number | undefined;
  let count = 0;
  return (nowMs) => {
    if (startMs === undefined || nowMs - startMs >= limitWindowMs) {
      count = startMs === undefined ? 1 : 0;
      startMs = nowMs;
      return 0;
    }
    if (count >= limit) return startMs + limitWindowMs - nowMs;
    count++;
    return 0;
  };
}

/** A bucket of tokens that return one by one, `perMinute` of them. */
function refillingBucket(perMinute: number) {
  return (limit: number): WrongBucket => {
    let [tokens, atMs] = [limit, 0];
    return (nowMs) => {
      tokens = Math.min(limit, tokens + ((nowMs - atMs) * perMinute) / limitWindowMs);
      atMs = nowMs;
      if (tokens < 1) return ((1 - tokens) * limitWindowMs) / perMinute;
      tokens -= 1;
      return 0;
    };
  };
}

/** A window that each passing request starts again: every increment resets the expiry. */
function windowRestartsOnEachRequest(limit: number): WrongBucket {
  let lastMs = 0;
  let count = 0;
  return (nowMs) => {
    if (nowMs - lastMs >= limitWindowMs) count = 0;
    if (count >= limit) return lastMs + limitWindowMs - nowMs;
    count++;
    lastMs = nowMs;
    return 0;
  };
}

/** Reserves the id of a send before the limit refuses it, and never releases it. */
function reservingThrottledIds(): Planted {
  return handling(() => {
    const reserved = new Set<string>();
    return ({ key, fields, request }, next) => {
      const id = `${key?.account.accountId} ${fields?.['request_id']}`;
      const handled = next(request);
      if (fields?.['request_id'] === undefined) return handled;
      if (handled.reply.status === 429) reserved.add(id);
      else if (reserved.has(id)) return { ...handled, reply: { status: 409, body: '{}' } };
      return handled;
    };
  });
}

function callerPerKey({ caller, key }: LimitedCall): string {
  return caller + (key?.keyId ?? '');
}

function sharedCaller({ caller, key }: LimitedCall): string {
  return key === undefined ? caller : 'everybody';
}

export const throttlingDefects: readonly DefectRow[] = [
  ...breaking('LIMIT-1', {
    'limit-119': ['the 120th send of a minute is refused already', withLimit('send', 119)],
    'limit-121': ['the 121st send of a minute passes', withLimit('send', 121)],
    'limit-per-key': [
      'each key of an account has 120 sends of its own',
      countingAs('send', callerPerKey),
    ],
    'limit-per-alias': [
      'sends with from_number in place of from have 120 of their own',
      countingAs('send', ({ caller, fields }) => caller + String(fields?.['from'] === undefined)),
    ],
    'limit-per-sim': [
      'each SIM of an account has 120 sends of its own',
      countingAs('send', ({ caller, sender }) => caller + String(sender)),
      because.anotherSim,
    ],
    'throttled-send-queues': [
      'a send that is answered 429 is queued all the same',
      refusing(429, queueDespiteRefusal),
    ],
    'throttled-id-reserved': [
      'a request_id that was answered 429 is answered 409 for ever',
      reservingThrottledIds(),
    ],
    'limit-forgotten-at-errors': [
      'a send that is answered 400 makes the limiter forget what was spent',
      refusing(400, ({ reply, simulation }) => {
        simulation.limiter.reset();
        return reply;
      }),
    ],
    'limit-counts-parts': [
      'a send spends a token for each part of its text',
      spending(({ message }) => Math.ceil(String(message).length / 153)),
    ],
    'limit-held-apart': [
      'messages held until one time have 120 of their own',
      countingAs('send', ({ caller, fields }) => `${caller} ${fields?.['send_at'] ?? ''}`.trim()),
    ],
    'throttled-as-503': [
      'a send beyond the limit is answered 503',
      replying(
        ({ reply }) => ({ ...reply, status: 503 }),
        ({ reply, endpoint }) => reply.status === 429 && endpoint === 'send',
      ),
    ],
    'window-59-seconds': ['tokens return after 59 s', withMinuteOf(59)],
    'window-61-seconds': ['tokens return after 61 s', withMinuteOf(61)],
  }),
  ...breaking('LIMIT-2', {
    'limit-dashboard-119': [
      'the dashboard send passes 119 a minute',
      withLimit('dashboard_send', 119),
    ],
  }),
  ...breaking('LIMIT-3', {
    'limit-external-121': [
      'the external send passes 121 a minute',
      withLimit('external_send', 121),
    ],
  }),
  ...breaking('LIMIT-4', {
    'limit-received-60': [
      'received messages are limited to 60 a minute',
      withLimit('received', 60),
    ],
    'limit-minute-restarts': [
      'the minute begins again with each request that passes',
      withBuckets(windowRestartsOnEachRequest),
    ],
    'limit-refills-faster': [
      '130 tokens of a minute return, one by one',
      withBuckets(refillingBucket(130)),
    ],
  }),
  ...breaking('LIMIT-5', {
    'limit-tasks-120': ['device tasks are limited to 120 a minute', withLimit('tasks', 120)],
    'limit-tasks-per-device': [
      'each device has its own 60 task polls, for all callers together',
      countingAs('tasks', ({ caller, id }) => caller + id),
      because.anotherSim,
    ],
    'limit-later-windows-one-more': [
      'the first minute passes 60 task polls, each later one 61',
      withBuckets(oneMoreInLaterWindows),
    ],
  }),
  ...breaking('LIMIT-6', {
    'read-limited-per-message': [
      'each message can be read 120 times a minute',
      limitingReads(({ request }) => request.path),
    ],
    'read-unknown-limited': [
      'reads of unknown ids are limited to 120 a minute',
      limitingReads(({ message }) => (message === undefined ? 'unknown' : undefined)),
    ],
    'stats-limited': ['account statistics are limited to 120 a minute', withLimit('stats', 120)],
  }),
  ...breaking('LIMIT-7', {
    'limit-shared-across-endpoints': [
      'one bucket for all endpoints of an account',
      countingIn(({ endpoint, caller }) => [
        endpoint === 'read' || endpoint === 'stats' ? endpoint : 'send',
        caller,
      ]),
    ],
    'limit-sends-share-a-bucket': [
      'the three send endpoints draw from one bucket',
      countingIn(({ endpoint, caller }) => [endpoint.endsWith('send') ? 'send' : endpoint, caller]),
    ],
    'tasks-limit-locks-account': [
      'an account whose task polls are spent is answered 429 everywhere',
      refusingWhileEmpty((_, accountId) => ['tasks', accountId]),
    ],
    'reads-spend-send-tokens': [
      'each read spends a token of the send endpoint',
      reading(({ endpoint, key, simulation }) => {
        if (endpoint === 'read' && key) simulation.limiter.take('send', key.account.accountId);
        // Leaves the request as it is.
        return undefined;
      }),
    ],
  }),
  ...breaking('READ-3', {
    'read-limited': ['reading a message is limited to 120 a minute', withLimit('read', 120)],
    'read-counts-as-send': [
      'reads are refused while the send bucket is empty',
      refusingWhileEmpty(({ endpoint }, id) => (endpoint === 'read' ? ['send', id] : undefined)),
    ],
  }),
  ...breaking('AUTH-6', {
    'limit-per-ip': [
      'authenticated calls are limited by client IP, so users behind one address share',
      countingIn((call) => [call.endpoint, addressCaller(call.request.clientIp)]),
    ],
    'limit-per-key-received': [
      'authenticated calls are limited by key, not by user',
      countingAs('received', callerPerKey),
    ],
    'limit-dashboard-global': [
      'all users share one bucket of dashboard sends',
      countingAs('dashboard_send', sharedCaller),
    ],
    'limit-external-global': [
      'all users share one bucket of external sends',
      countingAs('external_send', sharedCaller),
    ],
    'limit-tasks-global': [
      'all users share one bucket of task polls',
      countingAs('tasks', sharedCaller),
    ],
    'limit-pool-shared': [
      'all accounts that send from the pool share one bucket',
      countingIn(({ endpoint, caller, device }) => {
        return [endpoint, device && device.account === undefined ? device.deviceId : caller];
      }),
      because.noSim,
    ],
    'limit-global': [
      'one bucket for all users',
      countingIn((call) => [call.endpoint, sharedCaller(call)]),
    ],
    'unauthenticated-spends-user': [
      'calls without a key are counted in one bucket, not by client IP',
      countingIn(({ endpoint, caller, key }) => [endpoint, key === undefined ? 'unknown' : caller]),
      'a proxy that hides the address of the caller looks the same',
    ],
    'unauthenticated-limit-shared': [
      'calls without a key share one bucket for all endpoints',
      countingIn(({ endpoint, caller, key }) => [
        key === undefined ? 'received' : endpoint,
        caller,
      ]),
    ],
    'unauthenticated-locks-users': [
      'an address whose bucket is empty is refused even with a good key',
      refusingWhileEmpty(
        (call) => call.endpoint && [call.endpoint, addressCaller(call.request.clientIp)],
      ),
    ],
  }),
];
