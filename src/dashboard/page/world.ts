/**
 * The accounts and SIMs, which most pages show. All parts of a page share one reading.
 */
import { useEffect } from 'preact/hooks';
import { call } from './control.ts';
import { Reading } from './reading.ts';
import type { Account, Sim } from './wire.ts';

export interface World {
  readonly accounts: readonly Account[];
  /** All SIMs; those without an account are the shared pool. */
  readonly sims: readonly Sim[];
}

const reading = new Reading(readWorld);
/** Undefined until it was read once. It is read again while a component uses it. */
export const world = reading.value;

/** Keeps the world up to date while a component is shown. */
export function useWorld(): World | undefined {
  useEffect(() => reading.follow(['sim', 'clock', 'operation']), []);
  return world.value;
}

async function readWorld(): Promise<World> {
  const [{ accounts }, { sims }] = await Promise.all([call('accounts.list'), call('sims.all')]);
  return { accounts, sims };
}

export function accountChoices(accounts: readonly Account[] = []) {
  return accounts.map(({ account_id: value, name: label }) => ({ value, label }));
}

/** The account's name; its id if the account was deleted. For pages that use the world. */
export function accountName(id: string | null): string {
  if (id === null) return 'shared pool';
  const known = world.value?.accounts.find(({ account_id: own }) => own === id);
  return known?.name ?? id.slice(0, 8);
}
