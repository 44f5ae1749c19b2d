/**
 * What a client meets in one run, drawn from the seed: limits, faults, latency, and how many
 * messages it sends.
 */
import type { FaultKindName } from '#contract/fault-kinds.ts';
import type { Simulator } from '#src/api.ts';
import type { FaultInput } from '#src/config/fault-schema.ts';
import { Rng } from '#src/sim/random.ts';
import type { ClientRow, Trouble } from './client.ts';

export interface Conditions {
  readonly messages: number;
  readonly sendLimit: number | null;
  readonly quota: number | undefined;
  readonly faults: readonly FaultInput[];
  /** The longest time that a request or a reply is under way. */
  readonly latencyMs: number;
  readonly rng: Rng;
}

/** By kind of fault: its name as a trouble; undefined for kinds that clients do not meet here. */
const troubleOf = {
  lost_response: 'lost_response',
  truncate: 'truncate',
  malformed: 'malformed',
  refuse: 'refuse',
  status: 'busy',
  delay: 'delay',
  // As `refuse`, to a client of the simulator's `fetch`.
  reset: undefined,
  // A client without a time limit of its own never ends.
  lost_request: undefined,
  hang: undefined,
} as const satisfies Readonly<Record<FaultKindName, Trouble | undefined>>;
type PlainTrouble = NonNullable<(typeof troubleOf)[FaultKindName]>;
/** With a 503 that asks for a wait, which not every right client honours. */
type FaultTrouble = PlainTrouble | 'overloaded';
const faultTroubles: readonly PlainTrouble[] = Object.values(troubleOf).filter(
  (trouble) => trouble !== undefined,
);
const wrongTroubles: readonly FaultTrouble[] = [...faultTroubles, 'overloaded'];

/** The longest delay of a reply; a wrong client's own timeout must be shorter. */
export type LongestDelayMs = Readonly<Record<'wrong' | 'right', number>>;

export function conditionsFor(
  { name, rule, meets = [] }: ClientRow,
  seed: number,
  longestDelayMs: LongestDelayMs,
): Conditions {
  const rng = Rng.stream(seed, name);
  return rule === undefined
    ? rightConditions(rng, longestDelayMs.right)
    : wrongConditions(rng, longestDelayMs.wrong, meets);
}

/**
 * Conditions for a wrong client: just enough for its mistake to show, at requests that the seed
 * decides. A delayed reply takes `longestDelayMs` at most, and half of that at least.
 */
function wrongConditions(rng: Rng, longestDelayMs: number, meets: readonly Trouble[]): Conditions {
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

/** Conditions for a right client: several troubles at once. */
function rightConditions(rng: Rng, longestDelayMs: number): Conditions {
  const messages = 4 + rng.below(6);
  const requestNumbers = Array.from({ length: messages * 2 }, (_, index) => index + 1);
  // Every fourth request meets no fault.
  const places = shuffled(
    requestNumbers.filter((number) => number % 4 !== 0),
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

/** Sets the conditions in a simulator. */
export function impose({ sendLimit, quota, faults }: Conditions, simulator: Simulator): void {
  simulator.limits.patch({ send: sendLimit });
  if (quota !== undefined) simulator.accounts.patch('acme', { monthly_quota: quota });
  for (const each of faults) simulator.faults.add(each);
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
  for (let index = items.length - 1; index > 0; index--) {
    const other = rng.below(index + 1);
    [items[index], items[other]] = [items[other] as T, items[index] as T];
  }
  return items;
}
