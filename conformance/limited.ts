/**
 * The limited endpoints, in the form that cases use. Rules: LIMIT-1 to LIMIT-5.
 */
import type { Reply } from './client.ts';
import { paths, type Subject, type Trial } from './trial.ts';

/**
 * Sends many requests with a bounded number in flight; replies come in the order of the requests.
 */
export async function flood<T>(
  times: number,
  one: (index: number) => Promise<T>,
  width = 16,
): Promise<T[]> {
  const replies: T[] = new Array(times);
  let next = 0;
  const worker = async () => {
    while (next < times) {
      const index = next;
      next += 1;
      replies[index] = await one(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, times) }, worker));
  return replies;
}

const minute = 60_000;

type Call = (t: Trial, account: Subject, key?: string, variation?: Variation) => Promise<Reply>;

/** Parts of a request that a limit must not depend on. */
interface Variation {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

export interface Limited {
  readonly name: 'send' | 'dashboard_send' | 'external_send' | 'received' | 'tasks';
  readonly rule: 'LIMIT-1' | 'LIMIT-2' | 'LIMIT-3' | 'LIMIT-4' | 'LIMIT-5';
  readonly limit: number;
  /** True if its requests are sends, which cost money. */
  readonly isSend: boolean;
  readonly call: Call;
  readonly path: (account: Subject) => string;
}

function posting(path: string): Pick<Limited, 'call' | 'path' | 'isSend'> {
  return {
    isSend: true,
    path: () => path,
    call: (t, account, key = account.key, { headers } = {}) =>
      t.post(path, key, t.fields(account), headers),
  };
}

function getting(path: Limited['path']): Pick<Limited, 'call' | 'path' | 'isSend'> {
  return {
    isSend: false,
    path,
    call: (t, account, key = account.key, { headers, query = '' } = {}) =>
      t.get(path(account) + query, key, headers),
  };
}

export const limited: readonly [Limited, ...Limited[]] = [
  { name: 'send', rule: 'LIMIT-1', limit: 120, ...posting(paths.send) },
  { name: 'dashboard_send', rule: 'LIMIT-2', limit: 120, ...posting(paths.dashboard_send) },
  { name: 'external_send', rule: 'LIMIT-3', limit: 120, ...posting(paths.external_send) },
  { name: 'received', rule: 'LIMIT-4', limit: 120, ...getting(() => paths.received) },
  {
    name: 'tasks',
    rule: 'LIMIT-5',
    limit: 60,
    ...getting(({ sims }) => paths.tasks(sims[0]?.deviceId ?? '')),
  },
];

/** Two clients that take turns, as a load balancer or an update of one would show them. */
export function agentOf(index: number): Readonly<Record<string, string>> {
  return { 'user-agent': `smstwin-conformance/${1 + (index % 2)}` };
}

const pageSizes = 100;

/** Another query for each request, if the list of received messages takes one. */
export async function queriesOf(
  t: Trial,
  one: Limited,
  account: Subject,
): Promise<(index: number) => string> {
  const query = (index: number) => `?page_size=${1 + (index % pageSizes)}`;
  if (one.name !== 'received') return () => '';
  const probe = await one.call(t, account, account.key, { query: query(0) });
  return passed(probe) ? query : () => '';
}

export function passed(reply: Reply): boolean {
  return reply.status >= 200 && reply.status < 300;
}

/** The name of its case, for cases that exist for each endpoint. */
export function caseName(one: Limited): string {
  return one.name.replace('_', '-');
}

/** Waits until every bucket is full and no full minute of the clock begins within the next 59 s. */
export async function justAfterTheMinute(t: Trial): Promise<void> {
  const now = await t.now();
  await t.advance(Math.ceil((now + 2 * minute) / minute) * minute + 500 - now);
}
