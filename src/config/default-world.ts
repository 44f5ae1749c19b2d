/**
 * The default world, and the recipients with a scripted fate. Those exist in every world; the
 * world's own outcomes take precedence.
 * Rules: SVC-1, STATE-3, STATE-4, ERR-1 to ERR-3, AUTH-4, AUTH-5. Assumes: monthlyQuota (no account
 * here states a quota).
 */
import { scriptedRecipients as recipients } from '#contract/refusals.ts';
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
  { to: recipients.failsQueued, ends: 'failed', in: 'queued', polls: 1 },
  { to: recipients.failsSending, ends: 'failed', in: 'sending', polls: 1 },
  { to: recipients.failsSent, ends: 'failed', in: 'sent', polls: 1 },
  { to: recipients.staysQueued, ends: 'stuck', in: 'queued', polls: 1 },
  { to: recipients.staysSending, ends: 'stuck', in: 'sending', polls: 1 },
  { to: recipients.staysSent, ends: 'stuck', in: 'sent', polls: 1 },
  { to: recipients.slow, ends: 'delivered', polls: 3 },
  { to: recipients.overQuota, ends: 'refused', refuse: 'quota_exceeded' },
  { to: recipients.unknownSender, ends: 'refused', refuse: 'from_number_not_found' },
  { to: recipients.deniedSender, ends: 'refused', refuse: 'from_number_access_deniedd' },
  { to: recipients.inactiveSender, ends: 'refused', refuse: 'device_inactive' },
  { to: recipients.throttled, ends: 'refused', refuse: 'throttled' },
];

/** All scripted fates of a world; the first match wins. Other recipients are delivered. */
export function outcomesOf(world: Pick<WorldFixture, 'outcomes'>): readonly Outcome[] {
  return [...world.outcomes, ...scriptedOutcomes];
}
