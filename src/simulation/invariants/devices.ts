/**
 * Checks the SIMs: where they are listed, the queues of their work
 * (`src/sim/devices/device-work.ts`), and that they wake in time.
 * Rules: SVC-1, SVC-3, AUTH-4, STATE-2, STATE-3, SEND-7, RES-6. Assumes: progressPace,
 * pollIntervalSeconds.
 * A queue may list messages that have moved on, because its readers check the status. Every other
 * message waits in the queue of its status. A message that can proceed is in exactly one queue.
 */
import { secondMs } from '#contract/time.ts';
import type { Account, Device, Message } from '../../sim/accounts/account.ts';
import { isInFlight, isStuckIn } from '../../sim/devices/device-work.ts';
import { isSameFate } from '../../sim/devices/outcomes.ts';
import type { Cohort } from '../../sim/store/cohort.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';
import { isFinal } from './messages.ts';

export function checkDevices(simulation: Simulation, found: Findings): void {
  const { world, deviceActors } = simulation;
  const listedBy = new Map<Device, Account | undefined>(
    world.pool.map((each) => [each, undefined]),
  );
  for (const account of world.accounts.values())
    for (const each of account.devices) listedBy.set(each, account);
  if (listedBy.size !== world.devices.size)
    found.report('SVC-1', `${listedBy.size} SIMs are listed, the world has ${world.devices.size}`);
  if (deviceActors.size !== world.devices.size)
    found.report('SVC-3', `${deviceActors.size} of ${world.devices.size} SIMs run`);
  for (const [id, device] of world.devices) {
    found.checked.devices++;
    const isListed = listedBy.has(device) && listedBy.get(device) === device.account;
    if (device.deviceId !== id || !isListed)
      found.report('SVC-1', `SIM ${device.number} is not listed where it belongs`);
    if (world.deviceByNumber(device.number) !== device)
      found.report('AUTH-4', `number ${device.number} leads to another SIM`);
    checkWake(simulation, device, found);
  }
}

/** SVC-3: work that proceeds by itself must do so within one poll interval, with a timer set. */
function checkWake(
  { world, deviceActors, clock }: Simulation,
  device: Device,
  found: Findings,
): void {
  const wakeAtMs = deviceActors.wakeAtMs(device);
  const isAble = device.connected && device.active;
  if (wakeAtMs !== undefined && !isAble)
    found.report('SVC-3', `SIM ${device.number} wakes at ${wakeAtMs} although it is off`);
  if (wakeAtMs !== undefined && wakeAtMs < clock.now())
    found.report('SVC-3', `SIM ${device.number} should have woken at ${wakeAtMs}`);
  const intervalMs = world.assumptions.pollIntervalSeconds * secondMs;
  const dueMs = isAble ? latestWakeMs(device, clock.now(), intervalMs) : undefined;
  if (dueMs !== undefined && (wakeAtMs === undefined || wakeAtMs > dueMs))
    found.report('SVC-3', `SIM ${device.number} has work by ${dueMs} but wakes at ${wakeAtMs}`);
}

/** The latest time at which the device must wake; undefined if no work waits. */
function latestWakeMs(
  { work, polling }: Device,
  nowMs: number,
  intervalMs: number,
): number | undefined {
  let dueMs = Number.POSITIVE_INFINITY;
  for (const { message, from, dueAtMs } of work.paced.items)
    if (message.status === from) dueMs = Math.min(dueMs, dueAtMs);
  if (polling === 'simulated') {
    const waits =
      work.ready.some(({ cohorts }) => cohorts.some(({ status }) => status === 'queued')) ||
      work.inFlight.some(({ cohorts }) => cohorts.some(isInFlight));
    if (waits) dueMs = Math.min(dueMs, nowMs + intervalMs);
    for (const { status, sendAtMs } of work.held.messages) {
      if (status !== 'queued') continue;
      dueMs = Math.min(dueMs, Math.max(sendAtMs, nowMs) + intervalMs);
    }
  }
  return Number.isFinite(dueMs) ? dueMs : undefined;
}

/** Checks that cohorts count their messages, and that the messages of a cohort all move alike. */
export function checkCohorts({ world }: Simulation, found: Findings): void {
  const sizes = new Map<Cohort, number>();
  for (const { unbatched } of world.accounts.values()) sizes.set(unbatched, 1);
  for (const { messageId, cohort, account, fate } of world.messages.values()) {
    sizes.set(cohort, (sizes.get(cohort) ?? 0) + 1);
    const isUnbatched = cohort === account.unbatched;
    if (cohort.account !== account || (!isUnbatched && !isSameFate(cohort.fate, fate)))
      found.report('STATE-3', `message ${messageId} moves with messages of another kind`);
    if (isUnbatched && cohort.status !== 'queued')
      found.report('STATE-3', `message ${messageId} moves with all that wait`);
  }
  for (const [{ status, size }, count] of sizes) {
    if (size !== count)
      found.report('STATE-3', `${size} messages should be ${status} together, ${count} are`);
  }
}

/**
 * Where a queued message may wait. `paced`: its device took the task (`taskPickup: reported`) and
 * has not reported it yet.
 */
const queuesOfQueued = ['ready', 'held', 'paced'];

export function checkQueues(simulation: Simulation, found: Findings): void {
  const queues = new Map<number, string>();
  for (const device of simulation.world.devices.values())
    collectQueues(simulation, device, queues, found);
  for (const message of simulation.world.messages.values()) {
    const permitted = permittedQueues(simulation, message);
    const queue = queues.get(message.arrival);
    if (permitted.includes(queue)) continue;
    const { messageId, status } = message;
    const expected = permitted.map(nameOfQueue).join(' or ');
    const actual = `${status} in ${nameOfQueue(queue)}`;
    found.report('SVC-3', `message ${messageId} is ${actual}; expected ${expected}`);
  }
}

function nameOfQueue(queue: string | undefined): string {
  return queue ?? 'no queue';
}

/** Notes the queue of each message that waits in one device, by arrival number. */
function collectQueues(
  { world, clock }: Simulation,
  device: Device,
  queues: Map<number, string>,
  found: Findings,
): void {
  const { pollCount, ready, inFlight, held, paced } = device.work.queues();
  const add = (message: Message, queue: string) => {
    const { messageId, arrival } = message;
    if (queues.has(arrival)) found.report('STATE-2', `message ${messageId} is in two queues`);
    if (message.device !== device || world.messages.get(messageId)?.arrival !== arrival)
      found.report('RES-6', `message ${messageId} is in a queue of ${device.number}`);
    queues.set(arrival, queue);
  };
  const checkDue = ({ messageId, duePoll, fate }: Message) => {
    if (duePoll > pollCount + (fate?.polls ?? 1))
      found.report('SVC-3', `message ${messageId} waits for poll ${duePoll}`);
  };
  for (const message of ready) {
    if (message.status !== 'queued') continue;
    add(message, 'ready');
    checkDue(message);
    if (message.sendAtMs > clock.now())
      found.report('SEND-7', `message ${message.messageId} is held but ready for pickup`);
  }
  for (const message of held) if (message.status === 'queued') add(message, 'held');
  for (const message of inFlight) {
    if (!isInFlight(message)) continue;
    add(message, 'inFlight');
    checkDue(message);
  }
  for (const { message, from } of paced) if (message.status === from) add(message, 'paced');
}

/** Where a message may wait. `undefined` in the list: in no queue, as it is final or stuck. */
function permittedQueues({ world }: Simulation, message: Message): readonly (string | undefined)[] {
  const { status } = message;
  if (isStuckIn(message, status) || isFinal(status)) return [undefined];
  if (status === 'queued') return queuesOfQueued;
  return [world.assumptions.progressPace === 'per_poll' ? 'inFlight' : 'paced'];
}
