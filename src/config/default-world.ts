/**
 * The default world, and the recipients with a scripted fate. Those exist in every world; the
 * world's own outcomes take precedence.
 * Rules: SVC-1, STATE-3, STATE-4, ERR-1 to ERR-3, AUTH-4, AUTH-5. Assumes: monthlyQuota (no account
 * here states a quota).
 */
import { scriptedThrottle } from '#contract/refusals.ts';
import type { Outcome } from '../sim/devices/outcomes.ts';
import type { WorldFixture, WorldSim } from './world-schema.ts';

const keys = [{ name: 'default' }];

/** In parsed form, because the schema of the settings takes its default unparsed. */
export const defaultWorld: WorldFixture = {
  accounts: [
    { name: 'acme', keys, sims: [simOf('+12025550101'), simOf('+12025550102')] },
    { name: 'globex', keys, sims: [simOf('+12025550111')] },
    { name: 'initech', keys, sims: [] },
  ],
  pool: [{ number: '+12025550190' }],
  outcomes: [],
  assumptions: {},
  limits: {},
};

function simOf(number: string): WorldSim {
  return { number, connected: true, active: true, polling: 'simulated' };
}

/** What happens to messages for these recipients in every world. */
export const scriptedOutcomes: readonly Outcome[] = [
  { to: '+12025550160', ends: 'failed', in: 'queued', polls: 1 },
  { to: '+12025550161', ends: 'failed', in: 'sending', polls: 1 },
  { to: '+12025550162', ends: 'failed', in: 'sent', polls: 1 },
  { to: '+12025550163', ends: 'stuck', in: 'queued', polls: 1 },
  { to: '+12025550164', ends: 'stuck', in: 'sending', polls: 1 },
  { to: '+12025550165', ends: 'stuck', in: 'sent', polls: 1 },
  { to: '+12025550166', ends: 'delivered', polls: 3 },
  { to: '+12025550170', ends: 'refused', refuse: 'quota_exceeded' },
  { to: '+12025550171', ends: 'refused', refuse: 'from_number_not_found' },
  { to: '+12025550172', ends: 'refused', refuse: 'from_number_access_deniedd' },
  { to: '+12025550173', ends: 'refused', refuse: 'device_inactive' },
  { to: scriptedThrottle, ends: 'refused', refuse: 'throttled' },
];

/** All scripted fates of a world; the first match wins. Other recipients are delivered. */
export function outcomesOf(world: Pick<WorldFixture, 'outcomes'>): readonly Outcome[] {
  return [...world.outcomes, ...scriptedOutcomes];
}
