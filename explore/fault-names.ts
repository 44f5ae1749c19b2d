/** The faults that the explorer tries, and what each does to one request. */
import { faultKinds } from '#contract/fault-kinds.ts';
import { type FaultName, isCrash, kindNamed, refusalNamed } from '#contract/fault-schedule.ts';
import type { EndpointName } from '#contract/limits.ts';
import { refusals } from '#contract/refusals.ts';
import type { ChosenFault } from '#src/http/service/faults.ts';
import { sendEndpoints } from '#src/sim/store/message.ts';

/**
 * What a fault does to its request. `slowMs`: real milliseconds that `slow` holds a reply;
 * `waitSeconds`: the `Retry-After` of `throttle`. A client that crashes is gone before any reply.
 */
export function faultKind(name: FaultName, slowMs: number, waitSeconds: number): ChosenFault {
  const kind = kindNamed(name);
  if (kind === 'delay') return { kind, ms: slowMs };
  if (kind !== 'status') return { kind };
  if (name === 'throttle') return { kind, status: 429, waitSeconds };
  const refusal = refusalNamed(name);
  if (refusal !== undefined) return { kind, status: refusals[refusal].status, refusal };
  return { kind, status: 503, body: { detail: 'Service temporarily unavailable.' } };
}

/** These endpoints have no rate limit, and their requests change nothing. */
const unlimited: readonly EndpointName[] = ['read', 'stats'];
const sends: readonly EndpointName[] = sendEndpoints;

/**
 * The faults that can happen at an endpoint: one without a rate limit answers no 429 (READ-3,
 * LIMIT-6), and only sends are refused for their device or the quota (ERR-1, ERR-2).
 */
export function faultsAt(endpoint: EndpointName, names: readonly FaultName[]): FaultName[] {
  return names.filter((name) => {
    if (refusalNamed(name) !== undefined) return sends.includes(endpoint);
    return name !== 'throttle' || !unlimited.includes(endpoint);
  });
}

/**
 * Another fault with the same effect on client and service: where a request changes nothing, a lost
 * reply equals a lost request.
 */
export function equalFault(
  endpoint: EndpointName,
  name: FaultName,
  names: readonly FaultName[],
): FaultName | undefined {
  const own = faultKinds[kindNamed(name)];
  if (!unlimited.includes(endpoint) || !own.isHandled) return undefined;
  return names.find((other) => {
    const { isHandled, reply } = faultKinds[kindNamed(other)];
    return !isHandled && reply === own.reply && isCrash(other) === isCrash(name);
  });
}
