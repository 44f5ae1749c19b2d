/**
 * The accounts and SIMs, which most pages show.
 */
import { call } from './control.ts';
import { type Resource, useResource } from './resource.ts';
import type { Account, Sim } from './wire.ts';

export interface World {
  readonly accounts: readonly Account[];
  /** The SIMs of all accounts, in the accounts' order. */
  readonly sims: readonly Sim[];
  readonly pool: readonly Sim[];
}

export function useWorld(): Resource<World> {
  return useResource(readWorld, { on: ['sim', 'message', 'clock'], everyMs: 5_000 });
}

async function readWorld(): Promise<World> {
  const { accounts } = await call('accounts.list');
  const [pool, ...lists] = await Promise.all([
    call('sims.pool'),
    ...accounts.map(({ account_id: id }) => call('sims.list', id)),
  ]);
  return { accounts, sims: lists.flatMap(({ sims }) => sims), pool: pool.sims };
}

export function accountChoices({ accounts }: World) {
  return accounts.map(({ account_id: value, name: label }) => ({ value, label }));
}

/** The account's name; its id if the account was deleted. */
export function accountName(world: World | undefined, id: string | null): string {
  if (id === null) return 'shared pool';
  return world?.accounts.find(({ account_id: own }) => own === id)?.name ?? id.slice(0, 8);
}
