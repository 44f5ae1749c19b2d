/**
 * Recounts, from the held messages, the numbers that accounts and SIMs keep.
 * Rules: ERR-1, STATE-1. Assumes: quotaUnit, quotaMonth, quotaRefund.
 */

import type { Status } from '#contract/message-status.ts';
import { dayMs } from '#contract/time.ts';
import type { Account, Device } from '../../sim/accounts/records.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { unitsOf } from '../../sim/sends/quota.ts';
import type { Simulation } from '../simulation.ts';

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
    if (status !== 'delivered' && status !== 'failed') unfinished++;
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
