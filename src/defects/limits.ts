/**
 * Wrong limits: off by one, missing, with a wrong window, or on endpoints that have none.
 * Rules: LIMIT-1 to LIMIT-7, AUTH-6, READ-3.
 */
import type { ApiRequest } from '../http/service/messages.ts';
import { Limiter } from '../sim/limiter.ts';
import { documentedLimitsPerMinute, type EndpointName } from '../sim/limits.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { addressMark, addressOf, callerOf, namedMessage, refusal } from './edge.ts';
import { answering, type Defects, endpointOf, type Planted, reading } from './planted.ts';

function limited(endpoint: EndpointName, limit: number | null): Planted {
  return {
    around: (next, { limiter }) => {
      limiter.setLimit(endpoint, limit);
      return next;
    },
  };
}

/** A minute of another length: the limiter's clock runs at another speed. */
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

class HalfForStrangers extends Limiter {
  override take(endpoint: EndpointName, caller: string): number {
    const isAddress = caller.startsWith(addressMark);
    const waitSeconds = super.take(endpoint, caller);
    if (isAddress && waitSeconds === 0) super.take(endpoint, caller);
    return waitSeconds;
  }
}

/** Checks first and counts later, so simultaneous calls see the same bucket. */
class RacingLimiter extends Limiter {
  override take(endpoint: EndpointName, caller: string): number {
    const available = this.available(endpoint, caller);
    if (available === null || available === 0) return super.take(endpoint, caller);
    setImmediate(() => super.take(endpoint, caller));
    return 0;
  }
}

/** Counts reads in an extra bucket; undefined leaves a read uncounted. */
function readsPerMinute(
  bucketOf: (request: ApiRequest, simulation: Simulation) => string | undefined,
): Planted {
  return {
    around: (next, simulation) => {
      const { clock, world } = simulation;
      const reads = new Limiter(
        clock.now,
        { ...documentedLimitsPerMinute, read: 120 },
        { answers: world.assumptions },
      );
      return (request) => {
        const handled = next(request);
        const bucket = endpointOf(request) === 'read' ? bucketOf(request, simulation) : undefined;
        if (bucket === undefined || handled.key === undefined) return handled;
        const retryAfterSeconds = reads.take('read', `${handled.key.account.accountId} ${bucket}`);
        if (retryAfterSeconds === 0) return handled;
        const reply = refusal({ kind: 'throttled', retryAfterSeconds }, simulation);
        return { ...handled, reply };
      };
    },
  };
}

/** Refuses `request` while that bucket is empty. */
function emptyBucket(endpoint: EndpointName, caller: string, simulation: Simulation) {
  const { limiter } = simulation;
  if (limiter.available(endpoint, caller) !== 0) return undefined;
  const retryAfterSeconds = limiter.take(endpoint, caller);
  return refusal({ kind: 'throttled', retryAfterSeconds }, simulation);
}

export const limitDefects: Defects = {
  'limit-119': limited('send', 119),
  'limit-121': limited('send', 121),
  'limit-dashboard-119': limited('dashboard_send', 119),
  'limit-dashboard-missing': limited('dashboard_send', null),
  'limit-external-121': limited('external_send', 121),
  'limit-external-missing': limited('external_send', null),
  'limit-received-60': limited('received', 60),
  'limit-received-missing': limited('received', null),
  'limit-tasks-120': limited('tasks', 120),
  'read-limited': limited('read', 120),
  'stats-limited': limited('stats', 120),
  'window-59-seconds': minuteOf(59),
  'window-61-seconds': minuteOf(61),
  'read-limited-per-message': readsPerMinute(({ path }) => path),
  'read-unknown-limited': readsPerMinute((request, simulation) =>
    namedMessage(request, simulation) === undefined ? 'unknown' : undefined,
  ),
  'tasks-limit-locks-account': answering((request, simulation) => {
    const account = callerOf(request, simulation)?.account;
    if (account === undefined) return undefined;
    return emptyBucket('tasks', account.accountId, simulation);
  }),
  'limit-lost-under-concurrency': { parts: { Limiter: RacingLimiter } },
  'unauthenticated-limit-60': { parts: { Limiter: HalfForStrangers } },
  'unauthenticated-locks-users': answering((request, simulation) => {
    const endpoint = endpointOf(request);
    if (endpoint === undefined || callerOf(request, simulation) === undefined) return undefined;
    return emptyBucket(endpoint, addressOf(request), simulation);
  }),
  'reads-spend-send-tokens': reading((request, simulation) => {
    const account = callerOf(request, simulation)?.account;
    if (endpointOf(request) === 'read' && account !== undefined) {
      simulation.limiter.take('send', account.accountId);
    }
    return request;
  }),
  'read-counts-as-send': answering((request, simulation) => {
    const account = callerOf(request, simulation)?.account;
    if (endpointOf(request) !== 'read' || account === undefined) return undefined;
    return emptyBucket('send', account.accountId, simulation);
  }),
};
