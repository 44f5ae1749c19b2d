/**
 * Checks that an account's counters equal a recount of its records.
 * Rules: ERR-1, STATE-1.
 */
import type { Account } from '../../sim/records.ts';
import { statuses } from '../../sim/status.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';
import { noMessages, type Recount } from './recount.ts';

export function checkAccount(
  simulation: Simulation,
  account: Account,
  recount: Recount = noMessages(),
  found: Findings,
): void {
  found.checked.accounts++;
  for (const status of statuses) {
    const isFinal = status === 'delivered' || status === 'failed';
    const recounted = recount.counts[status] + (isFinal ? account.forgotten[status] : 0);
    if (recounted === account.counts[status]) continue;
    const counted = `${account.counts[status]} messages ${status}`;
    found.report('STATE-1', `account ${account.name} counts ${counted}, not ${recounted}`);
  }
  checkQuota(simulation, account, recount, found);
  const ids = new Set(account.received.map(({ messageId }) => messageId));
  if (ids.size !== account.received.length) {
    found.report('RES-2', `account ${account.name} received two messages with one id`);
  }
}

/** Forgotten messages count too, so a recount is exact only if no message was forgotten. */
function checkQuota(
  { world, clock }: Simulation,
  { name, quota, forgotten }: Account,
  { quotaUnits }: Recount,
  found: Findings,
): void {
  const used = quota.used(clock.now(), world.assumptions);
  const unknown = forgotten.delivered + forgotten.failed;
  const isRight = unknown === 0 ? used === quotaUnits : used >= quotaUnits;
  if (isRight) return;
  found.report('ERR-1', `account ${name} counts ${used} of its quota as used, not ${quotaUnits}`);
}
