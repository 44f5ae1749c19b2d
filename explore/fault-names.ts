/** The faults that the explorer tries, and what each does to one request. */
import type { FaultKind } from '#contract/fault-kinds.ts';
import type { FaultName } from '#contract/fault-schedule.ts';
import type { EndpointName } from '#contract/limits.ts';

/** True for faults that end the client's processes, which need a command and `--crash`. */
export function isCrash(name: FaultName): boolean {
  return name.startsWith('crash_');
}

/**
 * What a fault does to its request. `slowMs`: real milliseconds that `slow` holds a reply;
 * `waitSeconds`: the `Retry-After` of `throttle`. A client that crashes is gone before any reply.
 */
export function faultKind(name: FaultName, slowMs: number, waitSeconds: number): FaultKind {
  switch (name) {
    case 'slow':
      return { kind: 'delay', ms: slowMs };
    case 'throttle':
      return { kind: 'status', status: 429, waitSeconds };
    case 'crash_before':
      return { kind: 'lost_request' };
    case 'crash_after':
      return { kind: 'hang' };
    case 'unavailable':
      return { kind: 'status', status: 503, body: { detail: 'Service temporarily unavailable.' } };
    default:
      return { kind: name };
  }
}

/** These endpoints have no rate limit, and their requests change nothing. */
const unlimited: readonly EndpointName[] = ['read', 'stats'];

/**
 * The faults that can happen at an endpoint: an endpoint without a rate limit answers no 429
 * (READ-3, LIMIT-6).
 */
export function faultsAt(endpoint: EndpointName, names: readonly FaultName[]): FaultName[] {
  return names.filter((name) => name !== 'throttle' || !unlimited.includes(endpoint));
}

/** By fault: the one that has the same effect if the request changes nothing. */
const sameEffectOnReads: Readonly<Partial<Record<FaultName, FaultName>>> = {
  lost_response: 'refuse',
  hang: 'lost_request',
  crash_after: 'crash_before',
};

/**
 * Another fault with the same effect on client and service: where a request changes nothing, a lost
 * reply equals a lost request.
 */
export function equalFault(
  endpoint: EndpointName,
  name: FaultName,
  names: readonly FaultName[],
): FaultName | undefined {
  const equal = unlimited.includes(endpoint) ? sameEffectOnReads[name] : undefined;
  return equal !== undefined && names.includes(equal) ? equal : undefined;
}
