/**
 * Fault schedules: which fault strikes which attempt at which intent, what each fault does to its
 * request, and at which endpoints it can happen.
 */
import { z } from 'zod';
import { faultKinds } from '#contract/fault-kinds.ts';
import {
  type FaultName,
  faultNames,
  isCrash,
  kindNamed,
  type Point,
  refusalNamed,
  type Schedule,
  type ScheduledFault,
} from '#contract/fault-schedule.ts';
import {
  documentedLimitsPerMinute,
  type EndpointName,
  endpointNames,
  sendEndpoints,
} from '#contract/limits.ts';
import { refusals } from '#contract/refusals.ts';
import type { ChosenFault } from '#src/http/service/faults.ts';

const countSchema = z.int().min(1).max(1_000_000);

export const scheduleSchema = z
  .array(
    z.strictObject({
      at: z.strictObject({
        endpoint: z.enum(endpointNames),
        intent: countSchema,
        attempt: countSchema,
      }),
      fault: z.enum(faultNames),
    }),
  )
  .min(1, { error: 'expected at least one fault' })
  .max(100)
  .superRefine((schedule, context) => {
    const keys = schedule.map(({ at }) => pointKey(at));
    for (const [index, key] of keys.entries()) {
      const first = keys.indexOf(key);
      if (first === index) continue;
      const message = `has a fault already, by [${first}]: remove one of the two`;
      context.addIssue({ code: 'custom', path: [index, 'at'], message });
    }
  });

export function pointKey({ endpoint, intent, attempt }: Point): string {
  return `${endpoint} ${intent}.${attempt}`;
}

export function pointText({ endpoint, intent, attempt }: Point): string {
  return `${endpoint} ${intent}, attempt ${attempt}`;
}

export function faultKey({ at, fault }: ScheduledFault): string {
  return `${pointKey(at)} ${fault}`;
}

/** Equal for schedules of the same faults, whatever their order. */
export function scheduleKey(schedule: Schedule): string {
  return schedule.map(faultKey).sort().join('; ');
}

/** A schedule as text, such as `lost_response at send 1, attempt 2`. */
export function scheduleText(schedule: Schedule): string {
  if (schedule.length === 0) return 'no fault';
  return schedule.map(({ at, fault }) => `${fault} at ${pointText(at)}`).join('; then ');
}

/** The schedule with its intents renumbered from 1: equal for the same faults at other messages. */
export function shapeOf(schedule: Schedule): string {
  const newNumbers = new Map<string, number>();
  return schedule
    .map(({ at: { endpoint, intent, attempt }, fault }) => {
      const key = `${endpoint} ${intent}`;
      if (!newNumbers.has(key)) newNumbers.set(key, newNumbers.size + 1);
      return `${endpoint} ${newNumbers.get(key)}.${attempt} ${fault}`;
    })
    .join('; ');
}

/** How long each `throttle` of a schedule makes a client wait, in seconds. */
export function waitsOf(schedule: Schedule, throttleWaits: readonly number[]): readonly number[] {
  return schedule
    .filter(({ fault }) => fault === 'throttle')
    .map((_, index) => throttleWaits[index] ?? throttleWaits.at(-1) ?? 1);
}

/**
 * The fault of the service that a fault of a schedule is. `slowMs`: real milliseconds that `slow`
 * holds a reply; `waitSeconds`: the `Retry-After` of `throttle`.
 */
export function serviceFault(name: FaultName, slowMs: number, waitSeconds: number): ChosenFault {
  const kind = kindNamed(name);
  if (kind === 'delay') return { kind, ms: slowMs };
  if (kind !== 'status') return { kind };
  if (name === 'throttle') return { kind, status: 429, waitSeconds };
  const refusal = refusalNamed(name);
  if (refusal !== undefined) return { kind, status: refusals[refusal].status, refusal };
  return { kind, status: 503, body: { detail: 'Service temporarily unavailable.' } };
}

/** These endpoints have no rate limit, and their requests change nothing. */
const isUnlimited = (endpoint: EndpointName) => documentedLimitsPerMinute[endpoint] === null;
const sends: readonly EndpointName[] = sendEndpoints;

/**
 * The faults that can happen at an endpoint: one without a rate limit answers no 429 (READ-3,
 * LIMIT-6), and only sends are refused for their device or the quota (ERR-1, ERR-2).
 */
export function faultsAt(endpoint: EndpointName, names: readonly FaultName[]): FaultName[] {
  return names.filter((name) => {
    if (refusalNamed(name) !== undefined) return sends.includes(endpoint);
    return name !== 'throttle' || !isUnlimited(endpoint);
  });
}

/**
 * Another fault with the same effect on client and service: if a request changes nothing, a lost
 * reply has the effect of a lost request.
 */
export function equalFault(
  endpoint: EndpointName,
  name: FaultName,
  names: readonly FaultName[],
): FaultName | undefined {
  const own = faultKinds[kindNamed(name)];
  if (!isUnlimited(endpoint) || !own.isHandled) return undefined;
  return names.find((other) => {
    const { isHandled, reply } = faultKinds[kindNamed(other)];
    return !isHandled && reply === own.reply && isCrash(other) === isCrash(name);
  });
}
