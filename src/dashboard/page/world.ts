/**
 * The accounts and SIMs, which most pages show.
 */
import { call } from './control.ts';
import { type Resource, useResource } from './resource.ts';
import type { Account, Sim } from './wire.ts';

export interface World {
  readonly accounts: readonly Account[];
  /** All SIMs; those without an account are the shared pool. */
  readonly sims: readonly Sim[];
}

export function useWorld(): Resource<World> {
  return useResource(readWorld, { on: ['sim', 'message', 'clock'], everyMs: 30_000 });
}

async function readWorld(): Promise<World> {
  const [{ accounts }, { sims }] = await Promise.all([call('accounts.list'), call('sims.all')]);
  return { accounts, sims };
}

export function accountChoices({ accounts }: World) {
  return accounts.map(({ account_id: value, name: label }) => ({ value, label }));
}

/** The account's name; its id if the account was deleted. */
export function accountName(world: World | undefined, id: string | null): string {
  if (id === null) return 'shared pool';
  return world?.accounts.find(({ account_id: own }) => own === id)?.name ?? id.slice(0, 8);
}
