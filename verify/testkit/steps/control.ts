/**
 * Steps that perform control operations in the simulator and in the reference model: on keys, SIMs,
 * inbound messages, assumptions, quotas, limits and fates.
 */
import fc from 'fast-check';
import type { AssumptionName } from '#contract/assumptions.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import type { Outcome } from '../../model/reference-world.ts';
import { accountCount, itemAt, scriptedFates } from '../twin/callers.ts';
import { type ComparedRun, expectUuid } from '../twin/compared-run.ts';
import { caller, limited, owner, position, stepKind, weighted } from './step.ts';

export const createKey = stepKind('create_key', fc.record({ who: caller }), (run, { who }) => {
  run.createKey(who);
  return `${run.callers.nameOf(who)} creates a key`;
});

/** Revokes a key, and creates another if it was the last valid one. */
export const revokeKey = stepKind(
  'revoke_key',
  fc.record({ who: caller, key: position }),
  (run, { who, key: index }) => {
    const key = itemAt(run.callers.keysOf(who), index);
    if (key === undefined) return 'no key to revoke';
    run.simulator.accounts.revokeKey(key.keyId);
    key.revoked = true;
    if (run.callers.validKeysOf(who).length === 0) run.createKey(who);
    return `${run.callers.nameOf(who)} revokes ${key.key}`;
  },
);

export interface SimChanges {
  readonly active?: boolean;
  readonly connected?: boolean;
  readonly allowed?: boolean;
  readonly polling?: 'simulated' | 'external';
}

/** The index of the pool, whose SIMs have no account: they are only deactivated. */
const pool = fc.constant(accountCount);
const activity = fc.record<SimChanges>({ active: fc.boolean() });
const changes = fc.oneof<fc.Arbitrary<SimChanges>[]>(
  activity,
  fc.record({ allowed: fc.boolean() }),
  fc.record({ connected: fc.boolean() }),
  fc.record({ polling: fc.constantFrom('simulated' as const, 'external' as const) }),
  fc.record({ active: fc.boolean(), connected: fc.boolean() }),
);

export const patchSim = stepKind(
  'patch_sim',
  weighted(
    [5, fc.record({ who: caller, sim: position, changes })],
    [1, fc.record({ who: pool, sim: position, changes: activity })],
  ),
  (run, { who, sim: index, changes }) => {
    const sim = itemAt(run.callers.simsOf(who), index);
    if (sim === undefined) return 'no SIM to change';
    run.simulator.sims.patch(sim.deviceId, changes);
    run.model.patchSim(sim.deviceId, changes);
    run.learnOwnChanges();
    return `${sim.number} becomes ${JSON.stringify(changes)}`;
  },
);

export const pollNow = stepKind(
  'poll_now',
  fc.record({ who: owner, sim: position }),
  (run, { who, sim: index }) => {
    const sim = itemAt(run.callers.simsOf(who), index);
    if (sim === undefined) return 'no SIM to poll';
    if (!sim.active || !sim.connected) return `${sim.number} cannot poll`;
    const actual = run.simulator.sims.poll(sim.deviceId).picked_up.join();
    const expected = run.model.pollNow(sim.deviceId).join();
    if (actual !== expected) throw new Error(`picked up ${actual}; the model: ${expected}`);
    run.learnOwnChanges();
    return `${sim.number} polls now`;
  },
);

/** An inbound message arrives. */
export const inject = stepKind(
  'inject',
  fc.record({ who: caller, sim: position, text: fc.constantFrom<string>('in', 'ü\u0000"', '') }),
  (run, { who, sim: index, text: message }) => {
    const sim = itemAt(run.callers.simsOf(who), index);
    if (sim === undefined) return 'no SIM that receives';
    const { accountId } = run.callers.of(who);
    const inbound = { from: '+447400123456', to: sim.number, message };
    const { message_id: messageId } = run.simulator.sims.receive(accountId, inbound);
    expectUuid(messageId);
    const receivedAtMs = run.model.nowMs;
    const { deviceId } = sim;
    run.model.received.push({ messageId, deviceId, accountId, receivedAtMs, ...inbound });
    return `${sim.number} receives ${JSON.stringify(message)}`;
  },
);

export type Answers = Readonly<Record<AssumptionName, readonly unknown[]>>;

/** Steps that switch an assumption to one of these answers. */
export function assumeWith(answers: Answers) {
  const drawn = fc
    .constantFrom(...(Object.keys(answers) as AssumptionName[]))
    .chain((name) =>
      fc.record({ name: fc.constant(name), answer: fc.constantFrom(...answers[name]) }),
    );
  return stepKind('assume', drawn, assume);
}

export function assume(
  run: ComparedRun,
  { name, answer }: { readonly name: AssumptionName; readonly answer: unknown },
): string {
  const changes = { [name]: answer } as Partial<Assumptions>;
  run.simulator.assumptions.patch(changes);
  run.model.assume(changes);
  run.learnOwnChanges();
  return `assume ${JSON.stringify(changes)}`;
}

export const quota = stepKind(
  'quota',
  fc.record({
    who: caller,
    quota: fc.constantFrom<number | 'unlimited'>(0, 1, 2, 5, 30, 10_000, 'unlimited'),
  }),
  (run, { who, quota }) => {
    const { accountId } = run.callers.of(who);
    run.simulator.accounts.patch(accountId, { monthly_quota: quota });
    const account = run.model.accounts.find((each) => each.accountId === accountId);
    if (account !== undefined) account.quota = quota;
    return `${run.callers.nameOf(who)} gets a quota of ${quota}`;
  },
);

export const limit = stepKind(
  'limit',
  fc.record({
    endpoint: limited,
    limit: fc.constantFrom<number | null>(1, 2, 3, 7, 60, 120, null),
  }),
  (run, { endpoint, limit }) => {
    run.simulator.limits.patch({ [endpoint]: limit });
    run.model.setLimit(endpoint, limit);
    return `limit of ${endpoint}: ${limit}`;
  },
);

export const outcomes = stepKind(
  'outcomes',
  fc.record({
    outcomes: fc.constantFrom<readonly Outcome[]>(
      [],
      [{ to: '+12025550150', ends: 'failed', in: 'queued', polls: 2 }],
      [
        { to: '+12025550151', ends: 'stuck', in: 'sent', polls: 1 },
        { to: '+1202555015*', ends: 'failed', in: 'sent', polls: 3 },
      ],
      [{ to: '+1*0', ends: 'delivered', polls: 2 }],
    ),
  }),
  (run, { outcomes }) => {
    run.simulator.outcomes.put({ outcomes: [...outcomes] });
    const named = outcomes.map(({ to }) => to);
    run.model.outcomes = [...outcomes, ...scriptedFates.filter(({ to }) => !named.includes(to))];
    return `outcomes: ${JSON.stringify(outcomes)}`;
  },
);
