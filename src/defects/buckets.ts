/**
 * Buckets for the wrong caller: per key, SIM or address, shared by all, or across endpoints.
 * Rules: AUTH-6, LIMIT-1, LIMIT-5, LIMIT-7.
 */
import type { ApiRequest } from '../http/service/messages.ts';
import { matchRoute } from '../http/service/routes.ts';
import { Limiter } from '../sim/limiter.ts';
import type { EndpointName } from '../sim/limits.ts';
import type { Device } from '../sim/records.ts';
import { addressOf, callerOf, namedDevice, senderOf } from './edge.ts';
import type { Defects, Planted } from './planted.ts';

type Bucket = readonly [EndpointName, string];

/** The inputs of a wrong choice of bucket. */
interface Call {
  readonly endpoint: EndpointName;
  /** The account's id, or the marked client IP without a valid key. */
  readonly caller: string;
  readonly isKnown: boolean;
  readonly keyId: string;
  /** The SIM that sends. */
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

/** Counts calls in the bucket that `choose` returns. */
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

/** Counts calls of one endpoint in the bucket that `choose` returns. */
function countingOn(limited: EndpointName, choose: (call: Call) => string): Planted {
  return counting((call) => [
    call.endpoint,
    call.endpoint === limited ? choose(call) : call.caller,
  ]);
}

function perKey({ caller, keyId }: Call): string {
  return caller + keyId;
}

function shared({ caller, isKnown }: Call): string {
  return isKnown ? 'everybody' : caller;
}

const sends: readonly EndpointName[] = ['send', 'dashboard_send', 'external_send'];

export const bucketDefects: Defects = {
  'limit-per-key': countingOn('send', perKey),
  'limit-per-key-received': countingOn('received', perKey),
  'limit-received-by-url': countingOn('received', ({ caller, request }) => caller + request.query),
  'limit-dashboard-per-key': countingOn('dashboard_send', perKey),
  'limit-tasks-per-key': countingOn('tasks', perKey),
  'limit-per-sim': countingOn('send', ({ caller, request }) => caller + String(senderOf(request))),
  'limit-tasks-per-device': countingOn(
    'tasks',
    ({ caller, request }) => caller + String(matchRoute(request.path)?.id),
  ),
  'limit-external-per-ip': countingOn('external_send', ({ request }) => addressOf(request)),
  'limit-dashboard-global': countingOn('dashboard_send', shared),
  'limit-external-global': countingOn('external_send', shared),
  'limit-tasks-global': countingOn('tasks', shared),
  'limit-global': counting((call) => [call.endpoint, shared(call)]),
  'limit-pool-shared': counting(({ endpoint, caller, device }) => [
    endpoint,
    device !== undefined && device.account === undefined ? device.deviceId : caller,
  ]),
  'limit-per-user-and-ip': counting(({ endpoint, caller, request }) => [
    endpoint,
    `${caller} ${request.clientIp}`,
  ]),
  'limit-per-ip': counting(({ endpoint, request }) => [endpoint, addressOf(request)]),
  'limit-shared-across-endpoints': counting(({ endpoint, caller }) => [
    endpoint === 'read' || endpoint === 'stats' ? endpoint : 'send',
    caller,
  ]),
  'limit-sends-share-a-bucket': counting(({ endpoint, caller }) => [
    sends.includes(endpoint) ? 'send' : endpoint,
    caller,
  ]),
  'unauthenticated-spends-user': counting(({ endpoint, caller, isKnown }) => [
    endpoint,
    isKnown ? caller : 'strangers',
  ]),
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
};
