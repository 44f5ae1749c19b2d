/**
 * Account statistics. The document names the endpoint but no shape.
 */
import type { Account } from './records.ts';
import type { Status } from './status.ts';
import type { World } from './world.ts';

export interface AccountStats {
  readonly messages: Readonly<Record<Status, number>>;
  /** Units used in the current period; a null limit means unlimited. */
  readonly quota: { readonly used: number; readonly limit: number | null };
  readonly sims_connected: number;
  readonly received: number;
}

export function accountStats(world: World, account: Account): AccountStats {
  const limit = world.quotaOf(account);
  return {
    messages: { ...account.counts },
    quota: {
      used: account.quota.used(world.now(), world.assumptions),
      limit: limit === 'unlimited' ? null : limit,
    },
    sims_connected: account.connectedSims.length,
    received: account.received.length,
  };
}
