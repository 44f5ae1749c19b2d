/**
 * Checks that an account's counters equal a recount of its records.
 * Rules: ERR-1, STATE-1. Assumes: quotaUnit, quotaMonth, quotaRefund, statsShape.
 */

import { msPerDay } from '../sim/limits.ts';
import { unitsOf } from '../sim/quota.ts';
import type { Account } from '../sim/records.ts';
import { statuses } from '../sim/status.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { Findings } from './findings.ts';

export function checkAccount(simulation: Simulation, account: Account, found: Findings): void {
  const { world, clock } = simulation;
  found.checked.accounts++;
  checkList(simulation, account, found);
  const counts = { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 };
  for (const { status } of account.messages) counts[status]++;
  for (const status of statuses) {
    if (counts[status] === account.counts[status]) continue;
    const counted = `${account.counts[status]} messages ${status}`;
    found.report('statsShape', `account ${account.name} counts ${counted}, not ${counts[status]}`);
  }
  const used = account.quota.used(clock.now(), world.assumptions);
  const recounted = recountQuota(simulation, account);
  if (used !== recounted) {
    found.report(
      'ERR-1',
      `account ${account.name} counts ${used} of its quota as used, not ${recounted}`,
    );
  }
  const ids = new Set(account.received.map(({ messageId }) => messageId));
  if (ids.size !== account.received.length) {
    found.report('RES-2', `account ${account.name} received two messages with one id`);
  }
}

/** Checks that the account's list holds its own messages, in order, each known to the world. */
function checkList({ world }: Simulation, account: Account, found: Findings): void {
  let lastMs = 0;
  for (const [place, message] of account.messages.entries()) {
    const { messageId: id, ordinal, createdAtMs } = message;
    if (world.messages.get(id) !== message || message.account !== account) {
      found.report('READ-2', `message ${id} is listed under ${account.name} but not its own`);
    }
    if (ordinal !== place || createdAtMs < lastMs) {
      found.report('STATE-1', `message ${id} is out of place in the list of ${account.name}`);
    }
    lastMs = createdAtMs;
  }
}

function recountQuota({ world, clock }: Simulation, { messages }: Account): number {
  const { quotaUnit, quotaMonth, quotaRefund } = world.assumptions;
  const now = new Date(clock.now());
  const startMs =
    quotaMonth === 'calendar_utc'
      ? Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)
      : clock.now() - 30 * msPerDay + 1;
  let units = 0;
  for (const { createdAtMs, status, text } of messages) {
    if (createdAtMs < startMs || (quotaRefund === 'yes' && status === 'failed')) continue;
    units += unitsOf(text, quotaUnit);
  }
  return units;
}
