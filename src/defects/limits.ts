/**
 * Wrong limits: off by one, missing, of the wrong length, and kept for the wrong caller.
 * Rules: LIMIT-1 to LIMIT-7, AUTH-6, READ-3.
 */

import type { ApiRequest } from '../http/messages.ts';
import { matchRoute } from '../http/routes.ts';
import type { Device } from '../sim/device.ts';
import { Limiter } from '../sim/limiter.ts';
import { documentedLimitsPerMinute, type EndpointName } from '../sim/limits.ts';
import type { Simulation } from '../simulation.ts';
import {
  addressMark,
  addressOf,
  callerOf,
  namedDevice,
  namedMessage,
  refusal,
  senderOf,
} from './edge.ts';
import { answering, type Defects, endpointOf, type Planted, reading } from './planted.ts';

type Bucket = readonly [EndpointName, string];

/** What a wrong choice of the bucket may look at. */
interface Call {
  readonly endpoint: EndpointName;
  /** The account's id, or the marked client IP where there is no valid key. */
  readonly caller: string;
  readonly isKnown: boolean;
  readonly keyId: string;
  /** The SIM that a send names. */
  readonly device: Device | undefined;
  readonly request: ApiRequest;
}

class RekeyedLimiter extends Limiter {
  bucketOf: (endpoint: EndpointName, caller: string) => Bucket = (...own) => own;

  override take(endpoint: EndpointName, caller: string): number {
    return super.take(...this.bucketOf(endpoint, caller));
  }

  override giveBack(endpoint: EndpointName, caller: string): void {
    super.giveBack(...this.bucketOf(endpoint, caller));
  }
}

/** Calls are counted in the bucket that `choose` names. */
function counting(choose: (call: Call) => Bucket): Planted {
  return {
    parts: { Limiter: RekeyedLimiter },
    around: (next, simulation) => (request) => {
      const key = callerOf(request, simulation);
      const { limiter } = simulation;
      if (limiter instanceof RekeyedLimiter) {
        limiter.bucketOf = (endpoint, caller) =>
          choose({
            endpoint,
            caller,
            request,
            isKnown: key !== undefined,
            keyId: key?.keyId ?? '',
            device: namedDevice(request, simulation),
          });
      }
      return next(request);
    },
  };
}

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

/** Looks first and counts later: what arrives meanwhile sees the same bucket. */
class RacingLimiter extends Limiter {
  override take(endpoint: EndpointName, caller: string): number {
    const available = this.available(endpoint, caller);
    if (available === null || available === 0) return super.take(endpoint, caller);
    setImmediate(() => super.take(endpoint, caller));
    return 0;
  }
}

/** One bucket for all who call this endpoint. */
function globally(limitedTo: EndpointName): Planted {
  return counting(({ endpoint, caller, isKnown }) => [
    endpoint,
    endpoint === limitedTo && isKnown ? 'everybody' : caller,
  ]);
}

/** Reads are counted in a bucket of the defect's own; undefined leaves one uncounted. */
function readsPerMinute(
  bucketOf: (request: ApiRequest, simulation: Simulation) => string | undefined,
): Planted {
  return {
    around: (next, simulation) => {
      const { clock, world } = simulation;
      const reads = new Limiter(
        clock.now,
        { ...documentedLimitsPerMinute, read: 120 },
        world.assumptions,
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

const sends: readonly EndpointName[] = ['send', 'dashboard_send', 'external_send'];

/** Refuses `request` when that bucket is empty. */
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
  'limit-per-key': counting(({ endpoint, caller, keyId }) => [
    endpoint,
    endpoint === 'send' ? caller + keyId : caller,
  ]),
  'limit-per-key-received': counting(({ endpoint, caller, keyId }) => [
    endpoint,
    endpoint === 'received' ? caller + keyId : caller,
  ]),
  'limit-per-sim': counting(({ endpoint, caller, request }) => [
    endpoint,
    endpoint === 'send' ? caller + String(senderOf(request)) : caller,
  ]),
  'limit-dashboard-per-key': counting(({ endpoint, caller, keyId }) => [
    endpoint,
    endpoint === 'dashboard_send' ? caller + keyId : caller,
  ]),
  'limit-tasks-per-key': counting(({ endpoint, caller, keyId }) => [
    endpoint,
    endpoint === 'tasks' ? caller + keyId : caller,
  ]),
  'limit-external-per-ip': counting(({ endpoint, caller, request }) => [
    endpoint,
    endpoint === 'external_send' ? addressOf(request) : caller,
  ]),
  'limit-pool-shared': counting(({ endpoint, caller, device }) => [
    endpoint,
    device !== undefined && device.account === undefined ? device.deviceId : caller,
  ]),
  'limit-per-user-and-ip': counting(({ endpoint, caller, request }) => [
    endpoint,
    `${caller} ${request.clientIp}`,
  ]),
  'limit-dashboard-global': globally('dashboard_send'),
  'limit-external-global': globally('external_send'),
  'limit-tasks-global': globally('tasks'),
  'read-limited-per-message': readsPerMinute(({ path }) => path),
  'read-unknown-limited': readsPerMinute((request, simulation) =>
    namedMessage(request, simulation) === undefined ? 'unknown' : undefined,
  ),
  'tasks-limit-locks-account': answering((request, simulation) => {
    const account = callerOf(request, simulation)?.account;
    if (account === undefined) return undefined;
    return emptyBucket('tasks', account.accountId, simulation);
  }),
  'limit-per-ip': counting(({ endpoint, request }) => [endpoint, addressOf(request)]),
  'limit-global': counting(({ endpoint, caller, isKnown }) => [
    endpoint,
    isKnown ? 'everybody' : caller,
  ]),
  'limit-shared-across-endpoints': counting(({ endpoint, caller }) => [
    endpoint === 'read' || endpoint === 'stats' ? endpoint : 'send',
    caller,
  ]),
  'limit-sends-share-a-bucket': counting(({ endpoint, caller }) => [
    sends.includes(endpoint) ? 'send' : endpoint,
    caller,
  ]),
  'limit-tasks-per-device': counting(({ endpoint, caller, request }) => [
    endpoint,
    endpoint === 'tasks' ? caller + matchRoute(request.path)?.id : caller,
  ]),
  'unauthenticated-spends-user': counting(({ endpoint, caller, isKnown }) => [
    endpoint,
    isKnown ? caller : 'strangers',
  ]),
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
  'revoked-key-spends-user': {
    parts: { Limiter: RekeyedLimiter },
    around:
      (next, { limiter, world }) =>
      (request) => {
        const text = request.authorization?.slice('Bearer '.length);
        const revoked = [...world.keys.values()].find(
          ({ key, revokedAtMs }) => key === text && revokedAtMs !== undefined,
        );
        if (limiter instanceof RekeyedLimiter) {
          const { account } = revoked ?? {};
          limiter.bucketOf = (endpoint, caller) => [endpoint, account?.accountId ?? caller];
        }
        return next(request);
      },
  },
  'read-counts-as-send': answering((request, simulation) => {
    const account = callerOf(request, simulation)?.account;
    if (endpointOf(request) !== 'read' || account === undefined) return undefined;
    return emptyBucket('send', account.accountId, simulation);
  }),
};
