/**
 * What a client meets in one run, drawn from the seed: limits, faults, latency, and how many
 * messages it sends.
 */

import type { Simulator } from '../../src/api.ts';
import type { FaultInput } from '../../src/config/fault-schema.ts';
import { Rng } from '../../src/sim/random.ts';

export type Trouble =
  | 'throttle'
  | 'lost_response'
  | 'truncate'
  | 'malformed'
  | 'refuse'
  | 'busy'
  | 'overloaded'
  | 'delay'
  | 'quota';

export interface Conditions {
  readonly messages: number;
  readonly sendLimit: number | null;
  readonly quota: number | undefined;
  readonly faults: readonly FaultInput[];
  /** The longest way of a request or a reply. */
  readonly latencyMs: number;
  readonly rng: Rng;
}

const faultTroubles = [
  'lost_response',
  'truncate',
  'malformed',
  'refuse',
  'busy',
  'delay',
] as const;
/** A 503 that asks for a wait: not every right client knows that. */
const wrongTroubles = [...faultTroubles, 'overloaded'] as const;
type FaultTrouble = (typeof wrongTroubles)[number];

/**
 * Just enough for a mistake to show, at places that the seed decides. `longestDelayMs`: of a reply
 * that a fault delays, and twice the shortest.
 */
export function wrongConditions(
  meets: readonly Trouble[],
  name: string,
  seed: number,
  longestDelayMs: number,
): Conditions {
  const rng = Rng.stream(seed, name);
  const sendLimit = meets.includes('throttle') ? 1 + rng.below(3) : null;
  const messages = (sendLimit ?? 1) + 2 + rng.below(3);
  return {
    messages,
    sendLimit,
    quota: meets.includes('quota') ? 1 + rng.below(messages - 1) : undefined,
    faults: wrongTroubles
      .filter((kind) => meets.includes(kind))
      .map((kind) =>
        fault(kind, [1 + rng.below(messages)], longestDelayMs / 2 + rng.below(longestDelayMs / 2)),
      ),
    latencyMs: 1 + rng.below(20),
    rng,
  };
}

/** Everything at once. */
export function rightConditions(name: string, seed: number, longestDelayMs: number): Conditions {
  const rng = Rng.stream(seed, name);
  const messages = 4 + rng.below(6);
  const places = shuffled(
    Array.from({ length: messages * 2 }, (_, at) => at + 1).filter((at) => at % 4 !== 0),
    rng,
  );
  return {
    messages,
    sendLimit: 2 + rng.below(6),
    quota: undefined,
    faults: faultTroubles
      .filter(() => rng.fraction() < 0.6)
      .flatMap((kind) => {
        const nth = places.splice(0, 1 + rng.below(2));
        return nth.length === 0 ? [] : [fault(kind, nth, 1 + rng.below(longestDelayMs))];
      }),
    latencyMs: 1 + rng.below(400),
    rng,
  };
}

export function impose({ sendLimit, quota, faults }: Conditions, simulator: Simulator): void {
  simulator.limits.patch({ send: sendLimit });
  if (quota !== undefined) simulator.accounts.patch('acme', { monthly_quota: quota });
  for (const one of faults) simulator.faults.add(one);
}

function fault(kind: FaultTrouble, nth: number[], delayMs: number): FaultInput {
  const match = { endpoint: 'send' } as const;
  const when = { nth };
  if (kind === 'busy') return { match, when, fault: { kind: 'status', status: 503 } };
  if (kind === 'overloaded') {
    const headers = { 'retry-after': '60' };
    return { match, when, fault: { kind: 'status', status: 503, headers } };
  }
  if (kind !== 'delay') return { match, when, fault: { kind } };
  return { match, when, fault: { kind, ms: delayMs } };
}

function shuffled<T>(items: T[], rng: Rng): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = rng.below(at + 1);
    [items[at], items[other]] = [items[other] as T, items[at] as T];
  }
  return items;
}
