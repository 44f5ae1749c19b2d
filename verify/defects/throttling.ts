/**
 * Wrong limits: off by one, on the wrong caller or endpoint, wrong over several minutes, or with a
 * wrong 429. Rules: LIMIT-1 to LIMIT-7, AUTH-6, READ-3, ERR-3, ERR-4, SVC-4. A `Planted` replaces
 * classes of the simulation (`parts`) or wraps its request handler (`around`): `handling` wraps it
 * freely, `reading` changes the request, `answering` replies instead, `refusing` changes a reply.
 */
import { secondMs } from '../../src/ledger/time-units.ts';
import { createBucket } from '../../src/sim/buckets.ts';
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
  callOf,
  type DefectRow,
  type Exchange,
  handling,
  type Planted,
  queueDespiteRefusal,
  reading,
  refusal,
  refusing,
} from './planted.ts';

function addressOf({ request }: Pick<Call, 'request'>): string {
  return addressCaller(request.clientIp);
}

/** Gives an endpoint another limit. */
function limitOf(endpoint: EndpointName, limit: number): Planted {
  return {
    around: (next, { limiter }) => {
      limiter.setLimit(endpoint, limit);
      return next;
    },
  };
}

/** Makes the limiter's minute longer or shorter: its clock runs at another speed. */
function minuteOf(seconds: number): Planted {
  class OddLimiter extends Limiter {
    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(() => (now() * 60) / seconds, limits, assumptions);
    }

    override take(endpoint: EndpointName, caller: string): number {
      return Math.ceil((super.take(endpoint, caller) * seconds) / 60);
    }
  }
  return { parts: { Limiter: OddLimiter } };
}

/** What names a bucket of tokens. */
type Bucket = readonly [endpoint: EndpointName, caller: string];

/** A limiter that can count a call in another bucket. */
class RekeyedLimiter extends Limiter {
  bucketOf: (endpoint: EndpointName, caller: string) => Bucket = (...bucket) => bucket;

  override take(endpoint: EndpointName, caller: string): number {
    return super.take(...this.bucketOf(endpoint, caller));
  }

  override giveBack(endpoint: EndpointName, caller: string): void {
    super.giveBack(...this.bucketOf(endpoint, caller));
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

/** Counts calls in the bucket that `choose` returns. */
function bucketChosenBy(choose: (call: LimitedCall) => Bucket): Planted {
  return {
    parts: { Limiter: RekeyedLimiter },
    around: (next, simulation) => (request) => {
      const call = callOf(request, simulation);
      const { limiter } = simulation;
      if (limiter instanceof RekeyedLimiter) {
        // Set per request: handling is synchronous, so no other request can see it.
        limiter.bucketOf = (endpoint, caller) => choose({ ...call, endpoint, caller });
      }
      return next(request);
    },
  };
}

/** Counts calls of one endpoint in the bucket that `choose` returns. */
function bucketOn(limitedEndpoint: EndpointName, choose: (call: LimitedCall) => string): Planted {
  return bucketChosenBy((call) => {
    const { endpoint, caller } = call;
    return [endpoint, endpoint === limitedEndpoint ? choose(call) : caller];
  });
}

/** A bucket for each key. */
function perKey({ caller, key }: LimitedCall): string {
  return caller + (key?.keyId ?? '');
}

/** One bucket for all callers with a valid key. */
function oneForAllKeys({ caller, key }: LimitedCall): string {
  return key === undefined ? caller : 'everybody';
}

/** Counts reads in an extra bucket; undefined leaves a read uncounted. */
function readsPerMinute(bucketOf: (call: Call) => string | undefined): Planted {
  return handling(({ clock, world }) => {
    const limits = { ...documentedLimitsPerMinute, read: 120 };
    const reads = new Limiter(clock.now, limits, { answers: world.assumptions });
    return (call, next) => {
      const handled = next(call.request);
      const bucket = call.endpoint === 'read' ? bucketOf(call) : undefined;
      if (bucket === undefined || handled.key === undefined) return handled;
      const retryAfterSeconds = reads.take('read', `${handled.key.account.accountId} ${bucket}`);
      if (retryAfterSeconds === 0) return handled;
      return { ...handled, reply: refusal({ kind: 'throttled', retryAfterSeconds }, call) };
    };
  });
}

/** Refuses calls of known callers while the bucket that `choose` names is empty. */
function refusingWhileEmpty(
  choose: (call: Call, accountId: string) => Bucket | undefined,
): Planted {
  return answering((call) => {
    const { limiter } = call.simulation;
    const bucket = call.key && choose(call, call.key.account.accountId);
    if (bucket === undefined || limiter.available(...bucket) !== 0) return undefined;
    // The bucket is empty, so `take` returns the wait.
    return refusal({ kind: 'throttled', retryAfterSeconds: limiter.take(...bucket) }, call);
  });
}

/** Spends a token and returns 0; without a token, returns the milliseconds until there is one. */
type Take = (nowMs: number) => number;

/** Gives every caller its own bucket, made by `create`, at each endpoint. */
function withBucket(create: (limit: number) => Take): Planted {
  class OwnLimiter extends Limiter {
    readonly #time: () => number;
    readonly #takes = new Map<string, Take>();

    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(now, limits, assumptions);
      this.#time = now;
    }

    override take(endpoint: EndpointName, caller: string): number {
      const limit = this.limits[endpoint];
      if (limit === null) return 0;
      const name = `${endpoint} ${caller}`;
      const take = this.#takes.get(name) ?? create(limit);
      this.#takes.set(name, take);
      return Math.ceil(take(this.#time()) / secondMs);
    }
  }
  return { parts: { Limiter: OwnLimiter } };
}

/** The request that opens a window counts only in the first window. */
function oneMoreInLaterWindows(limit: number): Take {
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
function windowRestartsOnEachRequest(limit: number): Take {
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

function secondsOf({ reply }: Exchange): number {
  return Number(reply.headers?.['retry-after']);
}

/** Header and body of a 429 state the seconds that `wait` returns. */
function statingWait(wait: (exchange: Exchange) => number): Planted {
  return refusing(429, (exchange) =>
    refusal({ kind: 'throttled', retryAfterSeconds: wait(exchange) }, exchange),
  );
}

/** Changes 429s to calls without a valid key. */
function for429WithoutKey(change: Partial<Exchange['reply']>): Planted {
  return refusing(429, ({ key, reply }) => (key === undefined ? { ...reply, ...change } : reply));
}

function bodyOf429(write: (seconds: number) => object): Planted {
  return refusing(429, (exchange) => {
    return { ...exchange.reply, body: JSON.stringify(write(secondsOf(exchange))) };
  });
}

/** Milliseconds until the next request would pass, computed from a copy of the caller's bucket. */
function waitMs(exchange: Exchange): number {
  const { endpoint, key, simulation } = exchange;
  if (endpoint === undefined) return 0;
  const { limiter, clock, world } = simulation;
  const { limit, recent } = limiter.stateOf(endpoint);
  const state = new Map(recent).get(key?.account.accountId ?? addressOf(exchange));
  return createBucket(world.assumptions.limiterRefill, limit ?? 1, state).waitMs(clock.now());
}

export const throttlingDefects: readonly DefectRow[] = [
  ...breaking('LIMIT-1', {
    'limit-119': ['the 120th send of a minute is refused already', limitOf('send', 119)],
    'limit-121': ['the 121st send of a minute passes', limitOf('send', 121)],
    'limit-per-key': ['each key of an account has 120 sends of its own', bucketOn('send', perKey)],
    'limit-per-sim': [
      'each SIM of an account has 120 sends of its own',
      bucketOn('send', ({ caller, sender }) => caller + String(sender)),
      because.anotherSim,
    ],
    'throttled-send-queues': [
      'a send that is answered 429 is queued all the same',
      refusing(429, queueDespiteRefusal),
    ],
    'window-59-seconds': ['tokens come back after 59 s', minuteOf(59)],
    'window-61-seconds': ['tokens come back after 61 s', minuteOf(61)],
  }),
  ...breaking('LIMIT-2', {
    'limit-dashboard-119': [
      'the dashboard send passes 119 a minute',
      limitOf('dashboard_send', 119),
    ],
  }),
  ...breaking('LIMIT-3', {
    'limit-external-121': ['the external send passes 121 a minute', limitOf('external_send', 121)],
  }),
  ...breaking('LIMIT-4', {
    'limit-received-60': ['received messages are limited to 60 a minute', limitOf('received', 60)],
    'limit-minute-restarts': [
      'the minute begins again with each request that passes',
      withBucket(windowRestartsOnEachRequest),
    ],
  }),
  ...breaking('LIMIT-5', {
    'limit-tasks-120': ['device tasks are limited to 120 a minute', limitOf('tasks', 120)],
    'limit-tasks-per-device': [
      'each device has its own 60 task polls, for all callers together',
      bucketOn('tasks', ({ caller, id }) => caller + id),
      because.anotherSim,
    ],
    'limit-later-windows-one-more': [
      'the first minute passes 60 task polls, each later one 61',
      withBucket(oneMoreInLaterWindows),
    ],
  }),
  ...breaking('LIMIT-6', {
    'read-limited-per-message': [
      'each message can be read 120 times a minute',
      readsPerMinute(({ request }) => request.path),
    ],
    'read-unknown-limited': [
      'reads of unknown ids are limited to 120 a minute',
      readsPerMinute(({ message }) => (message === undefined ? 'unknown' : undefined)),
    ],
    'stats-limited': ['account statistics are limited to 120 a minute', limitOf('stats', 120)],
  }),
  ...breaking('LIMIT-7', {
    'limit-shared-across-endpoints': [
      'one bucket for all endpoints of an account',
      bucketChosenBy(({ endpoint, caller }) => [
        endpoint === 'read' || endpoint === 'stats' ? endpoint : 'send',
        caller,
      ]),
    ],
    'limit-sends-share-a-bucket': [
      'the three send endpoints draw from one bucket',
      bucketChosenBy(({ endpoint, caller }) => [
        endpoint.endsWith('send') ? 'send' : endpoint,
        caller,
      ]),
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
    'read-limited': ['reading a message is limited to 120 a minute', limitOf('read', 120)],
    'read-counts-as-send': [
      'reads are refused while the send bucket is empty',
      refusingWhileEmpty(({ endpoint }, id) => (endpoint === 'read' ? ['send', id] : undefined)),
    ],
  }),
  ...breaking('AUTH-6', {
    'limit-per-ip': [
      'authenticated calls are limited by client IP, so users behind one address share',
      bucketChosenBy((call) => [call.endpoint, addressOf(call)]),
    ],
    'limit-per-key-received': [
      'authenticated calls are limited by key, not by user',
      bucketOn('received', perKey),
    ],
    'limit-dashboard-global': [
      'all users share one bucket of dashboard sends',
      bucketOn('dashboard_send', oneForAllKeys),
    ],
    'limit-external-global': [
      'all users share one bucket of external sends',
      bucketOn('external_send', oneForAllKeys),
    ],
    'limit-tasks-global': [
      'all users share one bucket of task polls',
      bucketOn('tasks', oneForAllKeys),
    ],
    'limit-pool-shared': [
      'all accounts that send from the pool share one bucket',
      bucketChosenBy(({ endpoint, caller, device }) => {
        return [endpoint, device && device.account === undefined ? device.deviceId : caller];
      }),
      because.noSim,
    ],
    'limit-global': [
      'one bucket for all users',
      bucketChosenBy((call) => [call.endpoint, oneForAllKeys(call)]),
    ],
    'unauthenticated-spends-user': [
      'calls without a key are counted in one bucket, not by client IP',
      bucketChosenBy(({ endpoint, caller, key }) => [
        endpoint,
        key === undefined ? 'unknown' : caller,
      ]),
      'a proxy that hides the address of the caller looks the same',
    ],
    'unauthenticated-locks-users': [
      'an address whose bucket is empty is refused even with a good key',
      refusingWhileEmpty((call) => call.endpoint && [call.endpoint, addressOf(call)]),
    ],
  }),
  ...breaking('ERR-3', {
    'retry-after-rounded-down': [
      'Retry-After is rounded down, so that waiting it out is not enough',
      statingWait((exchange) => Math.floor(waitMs(exchange) / secondMs)),
    ],
    'retry-after-plus-one': [
      'Retry-After is one second too long',
      statingWait((exchange) => secondsOf(exchange) + 1),
    ],
    'retry-after-constant-60': ['Retry-After is always 60', statingWait(() => 60)],
    'retry-after-http-date': [
      'Retry-After is a date',
      refusing(429, (exchange) => {
        const atMs = exchange.simulation.clock.now() + secondsOf(exchange) * secondMs;
        return { ...exchange.reply, headers: { 'retry-after': new Date(atMs).toUTCString() } };
      }),
    ],
    'retry-after-missing': [
      'the header is missing',
      refusing(429, ({ reply }) => ({ ...reply, headers: {} })),
    ],
    'stranger-429-without-retry-after': [
      'a 429 to a call without a key has no Retry-After',
      for429WithoutKey({ headers: {} }),
    ],
  }),
  ...breaking('ERR-4', {
    'stranger-429-without-detail': [
      'a 429 to a call without a key has no detail',
      for429WithoutKey({ body: '{}' }),
    ],
    'throttle-no-detail': [
      'a 429 has a body without detail',
      bodyOf429((seconds) => ({ error: 'throttled', wait: seconds })),
    ],
    'throttle-detail-other-number': [
      'detail states another number than Retry-After',
      bodyOf429((seconds) => ({ detail: `Expected available in ${seconds + 1} seconds.` })),
    ],
  }),
  ...breaking('SVC-4', {
    'throttle-html': [
      'a 429 has an HTML body',
      refusing(429, ({ reply }) => ({
        ...reply,
        body: '<html><body><h1>429 Too Many Requests</h1></body></html>',
        headers: { ...reply.headers, 'content-type': 'text/html' },
      })),
    ],
  }),
];
