/**
 * Checks that no bucket holds a state that its refill could not have produced.
 * Rules: LIMIT-1 to LIMIT-6. Assumes: limiterRefill, refusedSpendsToken.
 */
import type { Assumptions } from '../../sim/assumptions.ts';
import { type EndpointName, endpointNames, limitWindowMs } from '../../sim/limits.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';

export function checkLimiter(simulation: Simulation, found: Findings): void {
  for (const endpoint of endpointNames) checkEndpoint(simulation, endpoint, found);
}

function checkEndpoint(
  { limiter, clock, world }: Simulation,
  endpoint: EndpointName,
  found: Findings,
): void {
  const { limit, turnedAtMs, recent, older } = limiter.stateOf(endpoint);
  const nowMs = clock.now();
  if (turnedAtMs > nowMs) found.report('LIMIT-7', `${endpoint} turned its buckets in the future`);
  const callers = new Set<string>();
  for (const [caller, state] of [...recent, ...older]) {
    found.checked.buckets++;
    if (callers.has(caller)) found.report('AUTH-6', `${endpoint} has two buckets of ${caller}`);
    callers.add(caller);
    const { limiterRefill } = world.assumptions;
    if (limit === null || !isPossible[limiterRefill](state, limit, nowMs)) {
      found.report('LIMIT-1', `${endpoint} holds an impossible bucket of ${caller}: ${state}`);
    }
  }
}

type Refill = Assumptions['limiterRefill'];
type IsPossible = (state: readonly number[], limit: number, nowMs: number) => boolean;

const isPossible: Readonly<Record<Refill, IsPossible>> = {
  // Times of spent tokens, oldest first. At most N of them, so no window of 60 s holds more than N.
  sliding: (spentAtMs, limit, nowMs) =>
    spentAtMs.length <= limit &&
    spentAtMs.every((atMs, i) => atMs >= (spentAtMs[i - 1] ?? 0) && atMs <= nowMs),
  continuous: ([units = 0, filledAtMs = 0], limit, nowMs) =>
    units <= limit * limitWindowMs && units >= (1 - limit) * limitWindowMs && filledAtMs <= nowMs,
  interval: ([tokens = 0, startedAtMs = 0], limit, nowMs) =>
    tokens >= 0 && tokens <= limit && startedAtMs <= nowMs,
  interval_aligned: ([tokens = 0, minute = 0], limit, nowMs) =>
    tokens >= 0 && tokens <= limit && minute <= Math.floor(nowMs / limitWindowMs),
};
