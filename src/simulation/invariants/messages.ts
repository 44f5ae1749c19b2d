/**
 * Checks each message by itself: its history and its owner. Recounts, from the held messages, the
 * numbers that accounts and SIMs keep.
 * Rules: STATE-1 to STATE-5, SVC-1, READ-2, RES-2, RES-6, ERR-1. Assumes: quotaUnit, quotaMonth,
 * quotaRefund.
 */
import type { Status } from '#contract/message-status.ts';
import { dayMs } from '#contract/time.ts';
import type { Account, Device, Message } from '../../sim/accounts/account.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { isUuid } from '../../sim/random.ts';
import { unitsOf } from '../../sim/sends/quota.ts';
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

/** Not that of the contract, so that the checks share no mistake with the checked code. */
function isFinal(status: Status): boolean {
  return documentedSteps[status].length === 0;
}

export function checkMessages({ world, clock }: Simulation, found: Findings): void {
  const nowMs = clock.now();
  let lastArrival = -1;
  let lastMs = 0;
  for (const [id, message] of world.messages) {
    found.checked.messages++;
    if (!isUuid(id) || world.messages.get(id)?.arrival !== message.arrival) {
      found.report('RES-2', `message ${id} is not found by its id`);
    }
    if (message.createdAtMs < lastMs) {
      found.report('STATE-1', `message ${id} was accepted before one that arrived earlier`);
    }
    lastMs = message.createdAtMs;
    if (message.arrival <= lastArrival || message.arrival >= world.counters.arrivals) {
      found.report('STATE-1', `message ${id} arrived as number ${message.arrival}, out of order`);
    }
    lastArrival = message.arrival;
    checkHistory(message, nowMs, found);
    checkOwner(message, found);
    if (world.accounts.get(message.account.accountId) !== message.account) {
      found.report('READ-2', `message ${id} belongs to an account that does not exist`);
    }
    const { device, status } = message;
    const mayOutliveDevice = device.isRemoved && isFinal(status);
    if (!mayOutliveDevice && world.devices.get(device.deviceId) !== device) {
      found.report('RES-6', `message ${id} is assigned to a SIM that does not exist`);
    }
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
  if ((message.failureReason !== undefined) !== (status === 'failed')) {
    found.report('STATE-4', `message ${id} is ${status} with the reason ${message.failureReason}`);
  }
  let latestMs = createdAtMs;
  for (const atMs of [sendingAtMs, sentAtMs, endedAtMs, nowMs]) {
    if (atMs !== 0 && atMs < latestMs) {
      found.report('STATE-3', `message ${id} went back in time, from ${latestMs} to ${atMs}`);
    }
    if (atMs !== 0) latestMs = atMs;
  }
}

function checkStep(message: Message, from: Status, to: Status, found: Findings): Status {
  if (!documentedSteps[from].includes(to)) {
    found.report('STATE-3', `message ${message.messageId} went from ${from} to ${to}`);
  }
  return to;
}

/** SVC-1: its SIM must belong to the account or to the pool. */
function checkOwner({ messageId, account, device }: Message, found: Findings): void {
  if (device.account !== undefined && device.account !== account) {
    found.report('SVC-1', `message ${messageId} of ${account.name} is on another's SIM`);
  }
}

/** The recounted numbers of one account, without forgotten messages. */
export interface Recount {
  readonly counts: Record<Status, number>;
  /** Used in the present period. */
  quotaUnits: number;
}

export interface Recounts {
  readonly accounts: ReadonlyMap<Account, Recount>;
  readonly messagesOf: ReadonlyMap<Device, number>;
  readonly unfinished: number;
}

export function recount({ world, clock }: Simulation): Recounts {
  const accounts = new Map<Account, Recount>();
  const messagesOf = new Map<Device, number>();
  let unfinished = 0;
  const { quotaUnit, quotaMonth, quotaRefund } = world.assumptions;
  const startMs = periodStart(clock.now(), quotaMonth);
  for (const message of world.messages.values()) {
    const { account, device, status, createdAtMs } = message;
    const ofAccount = accounts.get(account) ?? noMessages();
    accounts.set(account, ofAccount);
    ofAccount.counts[status]++;
    messagesOf.set(device, (messagesOf.get(device) ?? 0) + 1);
    if (!isFinal(status)) unfinished++;
    if (createdAtMs < startMs || (quotaRefund === 'yes' && status === 'failed')) continue;
    ofAccount.quotaUnits += unitsOf(message.text, quotaUnit);
  }
  return { accounts, messagesOf, unfinished };
}

export function noMessages(): Recount {
  return { counts: { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 }, quotaUnits: 0 };
}

function periodStart(nowMs: number, quotaMonth: Assumptions['quotaMonth']): number {
  if (quotaMonth === 'rolling_30_days') return nowMs - 30 * dayMs + 1;
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}
