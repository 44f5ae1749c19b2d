/**
 * Checks the invariants of a simulation: walks its whole state and reports each violation as a
 * line, the rule and then the finding. Changes nothing. It recounts from the records and has its
 * own table of steps, so that a mistake in the checked code cannot hide itself.
 * This file checks accounts, timers, keys and rate limits; the files next to it check the rest.
 * Assumes: limiterRefill.
 */
import { type EndpointName, endpointNames, limitWindowMs } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import type { Account } from '../../sim/accounts/account.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { Simulation } from '../simulation.ts';
import { checkCohorts, checkDevices, checkQueues } from './devices.ts';
import { Findings } from './findings.ts';
import { checkMessages, isFinal } from './messages.ts';
import {
  checkAcceptedUses,
  checkStore,
  checkStoredUses,
  noMessages,
  type Recount,
  recount,
} from './store.ts';

export function walk(simulation: Simulation): Findings {
  const found = new Findings();
  checkMessages(simulation, found);
  checkDevices(simulation, found);
  checkQueues(simulation, found);
  checkCohorts(simulation, found);
  const recounts = recount(simulation);
  checkStore(simulation, recounts, found);
  checkAcceptedUses(simulation, found);
  for (const account of simulation.world.accounts.values()) {
    checkAccount(simulation, account, recounts.accounts.get(account) ?? noMessages(), found);
    checkStoredUses(simulation, account, found);
  }
  checkKeys(simulation, found);
  for (const endpoint of endpointNames) checkEndpoint(simulation, endpoint, found);
  checkClock(simulation, found);
  return found;
}

/**
 * Checks that an account's counters equal a recount of its records.
 * Rules: ERR-1, STATE-1, RES-2.
 */
function checkAccount(
  simulation: Simulation,
  account: Account,
  recount: Recount,
  found: Findings,
): void {
  found.checked.accounts++;
  for (const status of statuses) {
    const forgotten = isFinal(status) ? account.forgotten[status] : 0;
    const recounted = recount.counts[status] + forgotten;
    if (recounted === account.counts[status]) continue;
    const counted = `${account.counts[status]} messages ${status}`;
    found.report('STATE-1', `account ${account.name} counts ${counted}, not ${recounted}`);
  }
  checkQuota(simulation, account, recount, found);
  const ids = new Set(account.received.map(({ messageId }) => messageId));
  if (ids.size !== account.received.length)
    found.report('RES-2', `account ${account.name} received two messages with one id`);
}

/** Forgotten messages count too, so a recount is exact only if no message was forgotten. */
function checkQuota(
  { world, clock }: Simulation,
  { name, quota, forgotten }: Account,
  { quotaUnits }: Recount,
  found: Findings,
): void {
  const used = quota.used(clock.now(), world.assumptions);
  const forgottenCount = forgotten.delivered + forgotten.failed;
  const isRight = forgottenCount === 0 ? used === quotaUnits : used >= quotaUnits;
  if (isRight) return;
  found.report('ERR-1', `account ${name} counts ${used} of its quota as used, not ${quotaUnits}`);
}

/**
 * Checks the clock's timers: they are in heap order, not overdue, and each awake device has one.
 * Rules: SVC-3.
 */
function checkClock({ clock, deviceActors, world }: Simulation, found: Findings): void {
  const { timers } = clock;
  /** How many timers have each deadline, without those of devices already checked. */
  const deadlines = new Map<number, number>();
  for (const [place, timer] of timers.entries()) {
    found.checked.timers++;
    const { deadlineMs, arrival, index } = timer;
    const parent = timers[(place - 1) >> 1];
    const isBeforeParent =
      place > 0 &&
      parent !== undefined &&
      (deadlineMs < parent.deadlineMs ||
        (deadlineMs === parent.deadlineMs && arrival < parent.arrival));
    if (index !== place || isBeforeParent)
      found.report('clock', `the timer of ${deadlineMs} is out of heap order`);
    if (deadlineMs < clock.now()) found.report('clock', `a timer of ${deadlineMs} is overdue`);
    deadlines.set(deadlineMs, (deadlines.get(deadlineMs) ?? 0) + 1);
  }
  for (const device of world.devices.values()) {
    const wakeAtMs = deviceActors.wakeAtMs(device);
    if (wakeAtMs === undefined) continue;
    const timerCount = deadlines.get(wakeAtMs) ?? 0;
    if (timerCount === 0)
      found.report('SVC-3', `SIM ${device.number} has no timer for ${wakeAtMs}`);
    deadlines.set(wakeAtMs, timerCount - 1);
  }
}

/**
 * Checks the API keys: a valid key is found by its text, a revoked one is not.
 * Rules: AUTH-2, AUTH-3.
 */
function checkKeys({ world, clock }: Simulation, found: Findings): void {
  let owned = 0;
  for (const { keys } of world.accounts.values()) owned += keys.length;
  if (owned !== world.keys.size || world.keyRing.size !== world.keys.size) {
    const ring = `${world.keyRing.size} in the index`;
    found.report('AUTH-3', `accounts have ${owned} keys, the world ${world.keys.size}, ${ring}`);
  }
  for (const [id, key] of world.keys) {
    found.checked.keys++;
    if (key.keyId !== id || !key.account.keys.includes(key) || !world.keyRing.holds(key))
      found.report('AUTH-2', `key ${id} is stored in the wrong place`);
    const isRevoked = key.revokedAtMs !== undefined;
    if (key.digest === undefined && (world.validKey(key.key) !== key) !== isRevoked)
      found.report('AUTH-3', `key ${id} is ${isRevoked ? 'revoked but accepted' : 'not accepted'}`);
    if ((key.revokedAtMs ?? key.createdAtMs) < key.createdAtMs || key.createdAtMs > clock.now())
      found.report('AUTH-2', `key ${id} was created after the present or its revocation`);
  }
}

/**
 * Checks that no bucket holds a state that its refill could not have produced.
 * Rules: LIMIT-1 to LIMIT-6. Assumes: limiterRefill, refusedSpendsToken.
 */
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
    if (limit === null || !isPossible[limiterRefill](state, limit, nowMs))
      found.report('LIMIT-1', `${endpoint} holds an impossible bucket of ${caller}: ${state}`);
  }
}

type Refill = Assumptions['limiterRefill'];
/** `state`: see the bucket of the refill in `src/sim/limiter/buckets.ts`. */
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
  sliding_counter: ([minute = 0, current = 0, last = 0], limit, nowMs) =>
    Math.min(current, last) >= 0 &&
    Math.max(current, last) <= limit &&
    minute <= Math.floor(nowMs / limitWindowMs),
};
