/**
 * The faults that the explorer tries, and what each does to one request.
 */
import type { FaultKind } from '../http/service/fault.ts';
import type { EndpointName } from '../sim/limits.ts';

/** From the weakest to the strongest: a finding shows the weakest that fails for the same cause. */
export const faultNames = [
  'slow',
  'throttle',
  'unavailable',
  'refuse',
  'reset',
  'lost_response',
  'truncate',
  'malformed',
  'hang',
] as const;
/** What a schedule can do to a request. */
export type FaultName = (typeof faultNames)[number];

/** `slowMs`: real milliseconds that `slow` holds a reply. */
export function faultKind(name: FaultName, slowMs: number): FaultKind {
  switch (name) {
    case 'slow':
      return { kind: 'delay', ms: slowMs };
    case 'throttle':
      return { kind: 'status', status: 429 };
    case 'unavailable':
      return { kind: 'status', status: 503, body: { detail: 'Service temporarily unavailable.' } };
    default:
      return { kind: name };
  }
}

const unlimited: readonly EndpointName[] = ['read', 'stats'];

/**
 * The faults that can happen at an endpoint: an endpoint without a rate limit answers no 429
 * (READ-3, LIMIT-6).
 */
export function faultsAt(endpoint: EndpointName, names: readonly FaultName[]): FaultName[] {
  return names.filter((name) => name !== 'throttle' || !unlimited.includes(endpoint));
}

/**
 * Another fault with the same effect on client and service: where a request changes nothing, a lost
 * reply equals a refused request.
 */
export function equalFault(
  endpoint: EndpointName,
  name: FaultName,
  names: readonly FaultName[],
): FaultName | undefined {
  const isEqual =
    name === 'lost_response' && unlimited.includes(endpoint) && names.includes('refuse');
  return isEqual ? 'refuse' : undefined;
}
