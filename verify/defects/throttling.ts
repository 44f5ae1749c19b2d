/**
 * Wrong limits: off by one, on the wrong caller or endpoint, or wrong over several minutes. The
 * limiter has a bucket of tokens for each endpoint and caller, and each request that passes spends
 * a token. Rules: LIMIT-1 to LIMIT-7, AUTH-6, READ-3.
 */
import { secondMs } from '../../src/ledger/time-units.ts';
import { addressCaller, Limiter } from '../../src/sim/limiter.ts';
import {
  documentedLimitsPerMinute,
  type EndpointName,
  limitWindowMs,
} from '../../src/sim/limits.ts';
import {
  answering,
  because,
  breaking,
  type Call,
  type DefectRow,
  handling,
  type Planted,
  queueDespiteRefusal,
  reading,
  refusal,
  refusing,
} from './planted.ts';

function withLimit(endpoint: EndpointName, limit: number): Planted {
  return {
    around: (next, { limiter }) => {
      limiter.setLimit(endpoint, limit);
      return next;
    },
  };
}

/** Makes a minute of the limiter last so many seconds: its clock runs at another speed. */
function withMinuteOf(seconds: number): Planted {
  class OddClockLimiter extends Limiter {
    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(() => (now() * 60) / seconds, limits, assumptions);
    }

    override take(endpoint: EndpointName, caller: string): number {
      return Math.ceil((super.take(endpoint, caller) * seconds) / 60);
    }
  }
  return { parts: { Limiter: OddClockLimiter } };
}

/** The endpoint and the caller for whom a bucket is kept. */
type BucketOwner = readonly [endpoint: EndpointName, caller: string];

/** A limiter that can count a call in the bucket of another owner. */
class RedirectingLimiter extends Limiter {
  ownerOf: (endpoint: EndpointName, caller: string) => BucketOwner = (...owner) => owner;

  override take(endpoint: EndpointName, caller: string): number {
    return super.take(...this.ownerOf(endpoint, caller));
  }

  override giveBack(endpoint: EndpointName, caller: string): void {
    super.giveBack(...this.ownerOf(endpoint, caller));
  }
}

/**
 * A call to a limited endpoint. `caller` is the account's id; without a valid key, the client's
 * address with a prefix (`addressCaller`).
 */
interface LimitedCall extends Call {
  readonly endpoint: EndpointName;
  readonly caller: string;
}

/** Counts each call in the bucket of the owner that `chooseOwner` returns. */
function countingIn(chooseOwner: (call: LimitedCall) => BucketOwner): Planted {
  const redirecting = handling(({ limiter }) => (call, next) => {
    if (limiter instanceof RedirectingLimiter) {
      // Set per request: handling is synchronous, so no other request can see it.
      limiter.ownerOf = (endpoint, caller) => chooseOwner({ ...call, endpoint, caller });
    }
    return next(call.request);
  });
  return { ...redirecting, parts: { Limiter: RedirectingLimiter } };
}

/** Counts calls of one endpoint as calls of the caller that `chooseCaller` returns. */
function countingAs(
  limitedEndpoint: EndpointName,
  chooseCaller: (call: LimitedCall) => string,
): Planted {
  return countingIn((call) => {
    const { endpoint, caller } = call;
    return [endpoint, endpoint === limitedEndpoint ? chooseCaller(call) : caller];
  });
}

/** Makes each key a caller of its own. */
function callerPerKey({ caller, key }: LimitedCall): string {
  return caller + (key?.keyId ?? '');
}

/** Makes all callers with a valid key one caller. */
function sharedCaller({ caller, key }: LimitedCall): string {
  return key === undefined ? caller : 'everybody';
}

/** Limits an account's reads of each thing that `thingOf` names; undefined leaves one unlimited. */
function limitingReads(thingOf: (call: Call) => string | undefined): Planted {
  return handling(({ clock, world }) => {
    const limits = { ...documentedLimitsPerMinute, read: 120 };
    const reads = new Limiter(clock.now, limits, { answers: world.assumptions });
    return (call, next) => {
      const handled = next(call.request);
      const thing = call.endpoint === 'read' ? thingOf(call) : undefined;
      if (thing === undefined || handled.key === undefined) return handled;
      const retryAfterSeconds = reads.take('read', `${handled.key.account.accountId} ${thing}`);
      if (retryAfterSeconds === 0) return handled;
      return { ...handled, reply: refusal({ kind: 'throttled', retryAfterSeconds }, call) };
    };
  });
}

/** Refuses calls with a valid key while the bucket of the chosen owner is empty. */
function refusingWhileEmpty(
  chooseOwner: (call: Call, accountId: string) => BucketOwner | undefined,
): Planted {
  return answering((call) => {
    const { limiter } = call.simulation;
    const owner = call.key && chooseOwner(call, call.key.account.accountId);
    if (owner === undefined || limiter.available(...owner) !== 0) return undefined;
    // The bucket is empty, so `take` returns the wait.
    return refusal({ kind: 'throttled', retryAfterSeconds: limiter.take(...owner) }, call);
  });
}

/** A wrong bucket: spends a token and returns 0, or returns the milliseconds until it has one. */
type WrongBucket = (nowMs: number) => number;

/** Replaces every bucket by a wrong one, made by `create`. */
function withBuckets(create: (limit: number) => WrongBucket): Planted {
  class WrongBucketLimiter extends Limiter {
    readonly #now: () => number;
    readonly #buckets = new Map<string, WrongBucket>();

    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(now, limits, assumptions);
      this.#now = now;
    }

    override take(endpoint: EndpointName, caller: string): number {
      const limit = this.limits[endpoint];
      if (limit === null) return 0;
      const owner = `${endpoint} ${caller}`;
      const bucket = this.#buckets.get(owner) ?? create(limit);
      this.#buckets.set(owner, bucket);
      return Math.ceil(bucket(this.#now()) / secondMs);
    }
  }
  return { parts: { Limiter: WrongBucketLimiter } };
}

/** The request that opens a window counts only in the first window. */
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

/** Each passing request starts the minute again: the expiry is reset on every increment. */
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

export const throttlingDefects: readonly DefectRow[] = [
  ...breaking('LIMIT-1', {
    'limit-119': ['the 120th send of a minute is refused already', withLimit('send', 119)],
    'limit-121': ['the 121st send of a minute passes', withLimit('send', 121)],
    'limit-per-key': [
      'each key of an account has 120 sends of its own',
      countingAs('send', callerPerKey),
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
    'window-59-seconds': ['tokens come back after 59 s', withMinuteOf(59)],
    'window-61-seconds': ['tokens come back after 61 s', withMinuteOf(61)],
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
    'unauthenticated-locks-users': [
      'an address whose bucket is empty is refused even with a good key',
      refusingWhileEmpty(
        (call) => call.endpoint && [call.endpoint, addressCaller(call.request.clientIp)],
      ),
    ],
  }),
];
