/**
 * What several pages show of a world: accounts and SIMs (one resource for all components of a
 * page), buckets, the keys that a client needs, and the other worlds.
 */
import { useEffect, useRef } from 'preact/hooks';
import { whileRunning } from './clock.ts';
import { type Account, call, type RefereeReport, type Reply } from './control.ts';
import { Resource, useReply, useResource } from './resource.ts';
import { shownWorld } from './route.ts';

const resource = new Resource(readWorld);
/** Undefined until the first read; kept up to date only while a component calls `useWorld`. */
export const world = resource.value;

/** The accounts and SIMs, kept up to date while the component is shown, if it needs them. */
export function useWorld(isNeeded = true): World | undefined {
  useEffect(() => (isNeeded ? resource.follow(['sim', 'clock', 'operation']) : undefined), []);
  return world.value;
}

export type World = Awaited<ReturnType<typeof readWorld>>;

/** The SIMs are those of all accounts, and of the shared pool. */
async function readWorld() {
  const [{ accounts }, { sims }] = await Promise.all([call('accounts.list'), call('sims.all')]);
  return { accounts, sims };
}

/** How many requests each account has left at each endpoint. */
export function useBuckets() {
  return useReply('limits.buckets', [], ['traffic', 'clock', 'operation'], {
    // Passing time fills the buckets again without an event.
    everyMs: (reply) =>
      reply?.buckets.some(({ available, limit }) => available < limit)
        ? whileRunning(1_000)
        : undefined,
  });
}

/** The referee's report of the requests so far, with the first findings of each rule. */
export function useReport({ partial, most }: { readonly partial: boolean; readonly most: number }) {
  return useReply('referee.report', [{ partial, most, recent: true }], ['traffic', 'clock'], {
    everyMs: (report) => report?.again_in_ms,
  });
}

/** The report as if the client had finished, read when `soFar` covers all requests. */
export function useFinalReport(soFar: RefereeReport | undefined) {
  const judged = useRef<number | undefined>(undefined);
  if (soFar !== undefined && soFar.again_in_ms === undefined) judged.current = soFar.exchanges;
  const input = { partial: false, most: 1, recent: true };
  const read = async () =>
    judged.current === undefined ? undefined : call('referee.report', input);
  return useResource(read, ['clock'], { key: `${judged.current}`, keepsLastValue: true }).value;
}

/** The start of the name of a copy of a world that was advanced by an hour. */
export const aheadName = 'an hour after';

/** The worlds of the server as choices, from the one that it started with. */
export function useWorldChoices() {
  const { value, error } = useReply('worlds.list', [], ['operation', 'clock']);
  const others = (value?.worlds ?? []).map(({ world_id, name }) => [world_id, name] as const);
  return { error, worlds: [['default', 'default'] as const, ...others] };
}

/** Accounts as choices of a select. The default is empty unless the page calls `useWorld`. */
export function accountChoices(accounts: readonly Account[] = world.value?.accounts ?? []) {
  return accounts.map(({ account_id: id, name }) => [id, name] as const);
}

/** The numbers that an account may send from and receive at: its own, then the shared pool's. */
export function numbersOf(account: string): string[] {
  const { sims = [] } = world.value ?? {};
  const ofOwner = (owner: string | null) => sims.filter(({ account_id: id }) => id === owner);
  return [account, null].flatMap(ofOwner).map(({ number }) => number);
}

/** The account's name; if it was deleted, the start of its id. */
export function accountName(id: string | null): string {
  if (id === null) return 'shared pool';
  const account = world.value?.accounts.find(({ account_id: accountId }) => accountId === id);
  return account?.name ?? id.slice(0, 8);
}

/**
 * What a client needs to send: the first account with a visible key and a number to send from, its
 * own or the shared pool's.
 */
export function clientOf({ base_url, accounts, pool }: Reply<'worlds.get'>) {
  for (const { api_key: key, sims } of accounts) {
    const from = (sims[0] ?? pool[0])?.number;
    if (key !== '' && from !== undefined) return { baseUrl: base_url, key, from };
  }
  return undefined;
}

export function useKey(accountId: string | null): string {
  const { value } = useReply('worlds.get', [shownWorld]);
  return value?.accounts.find(({ account_id: id }) => id === accountId)?.api_key ?? '';
}
