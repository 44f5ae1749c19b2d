/**
 * The accounts and SIMs, which most pages show. All parts of a page share one reading.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from './control.ts';
import { Reading } from './reading.ts';
import type { Account, Sim } from './wire.ts';

export interface World {
  readonly accounts: readonly Account[];
  /** All SIMs; those without an account are the shared pool. */
  readonly sims: readonly Sim[];
}

/** Undefined until it was read once. It is read again while a component uses it. */
export const world = signal<World | undefined>(undefined);
let reading: Reading<World> | undefined;
let users = 0;

/** Keeps the world up to date while a component is shown. */
export function useWorld(): World | undefined {
  useEffect(() => {
    if (users++ === 0) {
      reading = new Reading(readWorld, (read) => {
        world.value = read;
      });
      reading.follow(['sim', 'clock', 'operation']);
    }
    return () => {
      if (--users === 0) reading?.stop();
    };
  }, []);
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
