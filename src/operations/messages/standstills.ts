/**
 * Lists the messages that time alone does not move on, in groups with one SIM and one reason, which
 * `what-it-waits-for.ts` explains.
 */
import { z } from 'zod';
import { isFinal } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import type { Device } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { isStuckIn } from '../../sim/devices/device-work.ts';
import type { Cohort } from '../../sim/store/cohort.ts';
import { timeSchema } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';
import { sentenceOf, standstillOf, waitingReasons } from './what-it-waits-for.ts';

const mostGroups = 100;
/** After this many messages, other requests get a turn. */
const examinedPerSlice = 512;

export const standstillSchema = z
  .strictObject({
    waiting_for: z.enum(waitingReasons),
    from: z.string().describe('The number of their SIM.'),
    to: z.string().nullable().describe('Their recipient, if it is why they wait.'),
    messages: z.int().min(1),
    message_id: z.uuid().describe('The oldest of these messages.'),
    since: timeSchema.describe('When the oldest was accepted.'),
    sentence: z.string().describe('Why each of them waits.'),
  })
  .meta({ id: 'Standstill' });
type Standstill = z.output<typeof standstillSchema>;

/**
 * The cohorts with messages that may stand still. If all SIMs poll, these are only the cohorts that
 * a script keeps in their status, and those whose messages wait in no batch.
 */
function cohortsThatMayStandStill({ messages, accounts }: Registry): Cohort[] {
  const isPolling = ({ active, connected, polling }: Device) =>
    active && connected && polling !== 'external';
  const isAnyNotPolling = [...messages.devices].some((device) => !isPolling(device));
  const unbatched = new Set([...accounts.values()].map((account) => account.unbatched));
  return [...messages.cohorts].filter(
    (cohort) =>
      !isFinal(cohort.status) &&
      (isAnyNotPolling ||
        isStuckIn(cohort, cohort.status) ||
        (unbatched.has(cohort) && cohort.size > 1)),
  );
}

/** The messages that time alone does not move on, in groups by SIM and sentence. */
export function* standstills({ simulation }: RunningWorld): Generator<undefined, Standstill[]> {
  const { clock, world } = simulation;
  const nowMs = clock.now();
  const groups = new Map<string, Standstill>();
  let examined = 0;
  for (const message of world.messages.newestOf(cohortsThatMayStandStill(world))) {
    examined++;
    if (message === undefined || examined % examinedPerSlice === 0) yield;
    if (message === undefined || isFinal(message.status)) continue;
    const reason = standstillOf(message, nowMs, world.assumptions);
    if (reason === undefined) continue;
    const { device, messageId } = message;
    const sentence = sentenceOf(message, { reason }, nowMs);
    const key = `${device.deviceId} ${sentence}`;
    const group = groups.get(key);
    if (group === undefined && groups.size === mostGroups) continue;
    // Messages come newest first, so the last one of a group is its oldest.
    groups.set(key, {
      waiting_for: reason,
      from: device.number,
      to: reason === 'scripted_fate' ? message.to : null,
      messages: (group?.messages ?? 0) + 1,
      message_id: messageId,
      since: isoTime(message.createdAtMs),
      sentence,
    });
  }
  // Sorted by the oldest message, so that new messages do not change the order of the groups.
  const orderOf = (group: Standstill) => `${group.since} ${group.from} ${group.sentence}`;
  return [...groups.values()].sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
}
