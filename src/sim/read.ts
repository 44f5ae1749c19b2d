/**
 * Decides one read. Rules: READ-1, READ-2. Assumes: heldStatus, messageRetention.
 */

import type { Status } from '#contract/message-status.ts';
import type { Account } from './accounts/records.ts';
import type { Registry } from './accounts/registry.ts';
import type { ServiceError } from './errors.ts';
import { isReadable, messageBody, shownStatus } from './store/message.ts';

export type ReadDecision = { readonly kind: 'read'; readonly body: string } | ServiceError;

const notFound: ServiceError = { kind: 'not_found' };

/** The caller's own message. An unknown id and another account's message get the same answer. */
export function read(world: Registry, account: Account, messageId: string): ReadDecision {
  const message = world.messages.get(messageId);
  if (message === undefined || message.account !== account) return notFound;
  const nowMs = world.now();
  if (!isReadable(message, nowMs, world.assumptions)) return notFound;
  const status = shownStatus(message, nowMs, world.assumptions.heldStatus);
  return { kind: 'read', body: messageBody(message, status, messageId) };
}

/** Account statistics. The document names the endpoint but no shape. */
export interface AccountStats {
  readonly messages: Readonly<Record<Status, number>>;
  /** Units used in the current period; a null limit means unlimited. */
  readonly quota: { readonly used: number; readonly limit: number | null };
  readonly sims_connected: number;
  readonly received: number;
}

export function accountStats(world: Registry, account: Account): AccountStats {
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
