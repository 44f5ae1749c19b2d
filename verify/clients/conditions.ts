/**
 * What a client meets in one run, drawn from the seed: limits, faults, latency, and how many
 * messages it sends.
 */
import type { FaultKindName } from '#contract/fault-kinds.ts';
import type { Simulator } from '#src/api.ts';
import type { FaultInput } from '#src/config/fault-schema.ts';
import { Rng } from '#src/sim/random.ts';
import type { ClientRow, Message, Trouble } from './client.ts';

export interface Conditions {
  readonly messages: readonly Message[];
  /** The longest time that a request or a reply is under way. */
  readonly latencyMs: number;
  readonly rng: Rng;
}

type FaultOf = (delayMs: number) => FaultInput['fault'];

/** A fault of each kind; undefined for kinds that no client meets here. */
const faults = {
  lost_response: () => ({ kind: 'lost_response' }),
  truncate: () => ({ kind: 'truncate' }),
  malformed: () => ({ kind: 'malformed' }),
  refuse: () => ({ kind: 'refuse' }),
  status: () => ({ kind: 'status', status: 503 }),
  delay: (ms) => ({ kind: 'delay', ms }),
  // Looks like `refuse` to a client of the simulator's `fetch`.
  reset: undefined,
  // A client without a timeout of its own would wait for ever.
  lost_request: undefined,
  hang: undefined,
} as const satisfies Readonly<Record<FaultKindName, FaultOf | undefined>>;

const wrongFaults: Readonly<Record<Exclude<Trouble, 'throttle' | 'quota'>, FaultOf>> = {
  ...faults,
  busy: faults.status,
  // A 503 asks for a wait, which not every right client honours.
  overloaded: () => ({ kind: 'status', status: 503, headers: { 'retry-after': '60' } }),
};

/** Draws the conditions of a run, and sets them in its simulator. */
export function impose(
  { name, rule, meets = [] }: ClientRow,
  seed: number,
  longestDelayMs: number,
  simulator: Simulator,
): Conditions {
  const rng = Rng.stream(seed, name);
  return rule === undefined
    ? severalTroubles(rng, longestDelayMs, simulator)
    : troublesOf(meets, rng, longestDelayMs, simulator);
}

/**
 * What a wrong client meets: only the troubles that show its mistake, at requests that the seed
 * draws. A delayed reply takes from half of `longestDelayMs` to all of it, which must be more than
 * the client's own timeout.
 */
function troublesOf(
  meets: readonly Trouble[],
  rng: Rng,
  longestDelayMs: number,
  simulator: Simulator,
): Conditions {
  const sendLimit = meets.includes('throttle') ? 1 + rng.below(3) : null;
  const messages = (sendLimit ?? 1) + 2 + rng.below(3);
  simulator.limits.patch({ send: sendLimit });
  if (meets.includes('quota'))
    simulator.accounts.patch('acme', { monthly_quota: 1 + rng.below(messages - 1) });
  for (const trouble of meets) {
    if (trouble === 'throttle' || trouble === 'quota') continue;
    const nth = [1 + rng.below(messages)];
    const delayMs = longestDelayMs / 2 + rng.below(longestDelayMs / 2);
    addFault(simulator, nth, wrongFaults[trouble](delayMs));
  }
  return { messages: numbered(messages), latencyMs: 1 + rng.below(20), rng };
}

/** What a right client meets: several troubles at once. Every fourth request meets no fault. */
function severalTroubles(rng: Rng, longestDelayMs: number, simulator: Simulator): Conditions {
  const messages = 4 + rng.below(6);
  const places = Array.from({ length: messages * 2 }, (_, index) => index + 1)
    .filter((number) => number % 4 !== 0)
    .map((number) => ({ number, order: rng.fraction() }))
    .sort((a, b) => a.order - b.order);
  simulator.limits.patch({ send: 2 + rng.below(6) });
  const met: readonly FaultOf[] = Object.values(faults).filter((faultOf) => faultOf !== undefined);
  for (const faultOf of met) {
    if (rng.fraction() >= 0.6) continue;
    const nth = places.splice(0, 1 + rng.below(2)).map(({ number }) => number);
    if (nth.length > 0) addFault(simulator, nth, faultOf(1 + rng.below(longestDelayMs)));
  }
  return { messages: numbered(messages), latencyMs: 1 + rng.below(400), rng };
}

function addFault(simulator: Simulator, nth: number[], fault: FaultInput['fault']): void {
  simulator.faults.add({ match: { endpoint: 'send' }, when: { nth }, fault });
}

/** Messages to one recipient that differ in their number alone. */
export function numbered(count: number): Message[] {
  return Array.from({ length: count }, (_, at) => ({
    intent: `order-${at + 1}`,
    to: '+12025550123',
    from: '+12025550101',
    message: `Order ${at + 1} is on its way`,
  }));
}
