/**
 * The limited endpoints, in the form that cases use. Rules: LIMIT-1 to LIMIT-5.
 */
import { limits } from './buckets.ts';
import type { Reply } from './client.ts';
import { flood } from './flood.ts';
import { paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

const minute = 60_000;

export type Call = (
  t: Trial,
  account: Subject,
  key?: string,
  variation?: Variation,
) => Promise<Reply>;

/** Parts of a request that a limit must not depend on. */
export interface Variation {
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

export function howMany(replies: readonly Reply[]): number {
  return replies.filter(passed).length;
}

/** Sends one request more than the limit; all but one must pass. Needs an account of its own. */
export async function allButOnePass(
  t: Trial,
  limit: number,
  call: (index: number) => Promise<Reply>,
): Promise<void> {
  const replies = await flood(limit + 1, call);
  for (const reply of replies)
    verify.that(passed(reply) || reply.status === 429, 'a success or 429', reply);
  verify.equal('requests that passed', howMany(replies), limit);
  t.count();
}

/** Empties a bucket; the case does not judge its exact size. */
export async function emptied(
  limit: number,
  call: (index: number) => Promise<Reply>,
): Promise<readonly Reply[]> {
  const replies = await flood(limit + 1, call);
  const isEmpty = replies.some(({ status }) => status === 429);
  verify.given(() => verify.that(isEmpty, 'a 429', `none in ${replies.length} requests`));
  return replies;
}

/** The name of its case, for cases that exist for each endpoint. */
export function caseName(one: Limited): string {
  return one.name.replace('_', '-');
}

/** The number of sends in this many requests. */
export function sendsOf(one: Limited, requests: number): { readonly sends?: number } {
  return one.isSend ? { sends: requests } : {};
}

/** Waits until every bucket is full and no full minute of the clock begins within the next 59 s. */
export async function justAfterTheMinute(t: Trial): Promise<void> {
  const now = await t.now();
  await t.control.advanceTo(Math.ceil((now + 2 * minute) / minute) * minute + 500);
}

const bothBucketsFullMs = 2 * minute + 1_000;

/**
 * Runs with full buckets of the account and its address, before and after. Needs a control port.
 */
export async function withFullBuckets(t: Trial, run: () => Promise<void>): Promise<void> {
  await t.advance(bothBucketsFullMs);
  try {
    await run();
  } finally {
    await t.advance(bothBucketsFullMs);
  }
}

/** 429s to calls without a key. Needs a control port. */
export function throttledWithoutKey(
  t: Trial,
  check: (refusals: readonly Reply[]) => Promise<void>,
): Promise<void> {
  return withFullBuckets(t, async () => {
    const replies = await flood(limits.received + 2, () => t.get(paths.received, undefined));
    const refusals = replies.filter(({ status }) => status === 429);
    if (refusals.length === 0) lackThrottledStrangers(t);
    await check(refusals);
    t.count();
  });
}

export function lackThrottledStrangers(t: Trial): never {
  return t.lack(
    'a target that throttles calls without a key (unauthenticatedThrottle, errorsSpendToken)',
  );
}
