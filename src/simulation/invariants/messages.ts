/**
 * Checks each message by itself: that it can be found, its history, its account and its SIM.
 * Rules: STATE-1 to STATE-5, SVC-1, READ-2, RES-2, RES-6.
 */
import type { Status } from '#contract/message-status.ts';
import type { Message } from '../../sim/accounts/account.ts';
import { isUuid } from '../../sim/random.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';

/**
 * The steps of a message, transcribed from the document a second time. Rules: STATE-1 to STATE-5.
 * `src/actors/message-machine.ts` is the first transcription. Neither imports the other, so that
 * one misreading cannot hide in both. The document does not say from which states a message may
 * fail; here, any state that is not final.
 */
const documentedSteps: Readonly<Record<Status, readonly Status[]>> = {
  queued: ['sending', 'failed'],
  sending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};

/** Does not use `isFinal` of the contract, so that one mistake there cannot hide in both. */
export function isFinal(status: Status): status is 'delivered' | 'failed' {
  return documentedSteps[status].length === 0;
}

export function checkMessages({ world, clock }: Simulation, found: Findings): void {
  const nowMs = clock.now();
  let lastArrival = -1;
  let lastMs = 0;
  for (const message of world.messages.values()) {
    const id = message.messageId;
    found.checked.messages++;
    if (!isUuid(id) || world.messages.get(id)?.arrival !== message.arrival)
      found.report('RES-2', `message ${id} is not found by its id`);
    if (message.createdAtMs < lastMs)
      found.report('STATE-1', `message ${id} was accepted before one that arrived earlier`);
    lastMs = message.createdAtMs;
    if (message.arrival <= lastArrival || message.arrival >= world.counters.arrivals)
      found.report('STATE-1', `message ${id} arrived as number ${message.arrival}, out of order`);
    lastArrival = message.arrival;
    checkHistory(message, nowMs, found);
    checkOwner(message, found);
    if (world.accounts.get(message.account.accountId) !== message.account)
      found.report('READ-2', `message ${id} belongs to an account that does not exist`);
    const { device, status } = message;
    const mayOutliveDevice = device.isRemoved && isFinal(status);
    if (!mayOutliveDevice && world.devices.get(device.deviceId) !== device)
      found.report('RES-6', `message ${id} is assigned to a SIM that does not exist`);
  }
}

/** The history must follow the table of steps, forward in time, and end in the current status. */
function checkHistory(message: Message, nowMs: number, found: Findings): void {
  const { messageId: id, status, createdAtMs, sendingAtMs, sentAtMs, endedAtMs } = message;
  const hasEnded = endedAtMs > 0;
  let last: Status = 'queued';
  if (sendingAtMs > 0) last = checkStep(message, last, 'sending', found);
  if (sentAtMs > 0) last = checkStep(message, last, 'sent', found);
  if (hasEnded && isFinal(status)) last = checkStep(message, last, status, found);
  if (hasEnded && !isFinal(status)) {
    found.report('STATE-5', `message ${id} is ${status} after a final status`);
  } else if (last !== status) {
    found.report('STATE-3', `message ${id} is ${status} but its history ends in ${last}`);
  }
  if ((message.failureReason !== undefined) !== (status === 'failed'))
    found.report('STATE-4', `message ${id} is ${status} with the reason ${message.failureReason}`);
  let latestMs = createdAtMs;
  for (const atMs of [sendingAtMs, sentAtMs, endedAtMs, nowMs]) {
    if (atMs !== 0 && atMs < latestMs)
      found.report('STATE-3', `message ${id} went back in time, from ${latestMs} to ${atMs}`);
    if (atMs !== 0) latestMs = atMs;
  }
}

function checkStep(message: Message, from: Status, to: Status, found: Findings): Status {
  if (!documentedSteps[from].includes(to))
    found.report('STATE-3', `message ${message.messageId} went from ${from} to ${to}`);
  return to;
}

/** SVC-1: its SIM must belong to the account or to the pool. */
function checkOwner({ messageId, account, device }: Message, found: Findings): void {
  if (device.account !== undefined && device.account !== account)
    found.report('SVC-1', `message ${messageId} of ${account.name} is on another's SIM`);
}
