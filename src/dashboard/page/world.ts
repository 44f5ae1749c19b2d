/**
 * The accounts and SIMs, which most pages show. All parts of a page share one reading.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from './control.ts';
import { onEvents } from './events.ts';
import { Reading } from './reading.ts';
import type { Account, Sim } from './wire.ts';

export interface World {
  readonly accounts: readonly Account[];
  /** All SIMs; those without an account are the shared pool. */
  readonly sims: readonly Sim[];
}

const world = signal<World | undefined>(undefined);
let users = 0;
let stop = () => {};

/** Undefined until it was read once. */
export function useWorld(): World | undefined {
  useEffect(() => {
    if (users++ === 0) stop = follow();
    return () => {
      if (--users === 0) stop();
    };
  }, []);
  return world.value;
}

function follow(): () => void {
  const reading = new Reading(readWorld, (read) => {
    world.value = read;
  });
  const kinds = ['sim', 'clock', 'operation'] as const;
  const ends = kinds.map((kind) => onEvents(kind, () => reading.soon()));
  reading.now();
  return () => {
    reading.stop();
    for (const end of ends) end();
  };
}

async function readWorld(): Promise<World> {
  const [{ accounts }, { sims }] = await Promise.all([call('accounts.list'), call('sims.all')]);
  return { accounts, sims };
}

export function accountChoices({ accounts }: World) {
  return accounts.map(({ account_id: value, name: label }) => ({ value, label }));
}

/** The account's name; its id if the account was deleted. */
export function accountName(known: World | undefined, id: string | null): string {
  if (id === null) return 'shared pool';
  return known?.accounts.find(({ account_id: own }) => own === id)?.name ?? id.slice(0, 8);
}
