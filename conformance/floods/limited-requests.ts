/**
 * Requests to the limited endpoints, for floods and cases: one, many, or varied in what a limit
 * must not depend on. Rules: LIMIT-1 to LIMIT-5.
 */
import type { LimitedEndpoint } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { workOn } from '#io/event-loop.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { type Bucket, isSending } from '../run/budget.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';

/** How many requests of a flood are in flight at one time. */
export const floodWidth = 16;

/**
 * Sends many requests with a bounded number in flight; replies come in the order of the requests.
 */
export async function flood<T>(
  times: number,
  send: (index: number) => Promise<T>,
  width = floodWidth,
): Promise<T[]> {
  const replies: T[] = new Array(times);
  await workOn(replies.keys(), width, async (index) => {
    replies[index] = await send(index);
  });
  return replies;
}

/** Parts of a request that a limit must not depend on. */
interface Variation {
  /** Another key of the account. */
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

export function pathFor(endpoint: LimitedEndpoint, { sims }: AccountUnderTest): string {
  return endpoint === 'tasks' ? paths.tasks(sims[0]?.deviceId ?? '') : paths[endpoint];
}

/** Sends an acceptable request of the account. */
export function requestTo(
  t: Trial,
  endpoint: LimitedEndpoint,
  account: AccountUnderTest,
  { key = account.key, headers, query = '' }: Variation = {},
): Promise<Reply> {
  const path = pathFor(endpoint, account);
  return isSending(endpoint)
    ? t.post(path, key, t.fields(account), headers)
    : t.get(path + query, key, headers);
}

/** The headers of two clients that take turns: a service may see several versions of one client. */
export function agentOf(index: number): Readonly<Record<string, string>> {
  const second = index % 2;
  return {
    'user-agent': `smstwin-conformance/${1 + second}`,
    accept: second ? '*/*' : 'application/json',
    'accept-language': second ? 'de' : 'en',
    'accept-encoding': second ? 'gzip' : 'identity',
  };
}

/** Queries ask for pages of 1 to this many messages. */
const largestPage = 100;

/**
 * Returns the query of each request: a page size that varies if the list of received messages takes
 * it, otherwise none.
 */
export async function queriesOf(
  t: Trial,
  endpoint: LimitedEndpoint,
  account: AccountUnderTest,
): Promise<(index: number) => string> {
  const query = (index: number) => `?page_size=${1 + (index % largestPage)}`;
  if (endpoint !== 'received') return () => '';
  const probe = await requestTo(t, endpoint, account, { query: query(0) });
  return passed(probe) ? query : () => '';
}

/** Reads the message that a reply accepted, `times` times; nothing if it accepted none. */
export async function readMessageOf(
  t: Trial,
  account: AccountUnderTest,
  { json }: Reply,
  times: number,
): Promise<void> {
  const id: unknown = Object(json).message_id;
  if (typeof id === 'string') await flood(times, () => t.read(account, id));
}

export function passed(reply: Reply): boolean {
  return reply.status >= 200 && reply.status < 300;
}

export function isRefused({ status }: Reply): boolean {
  return status === 429;
}

/** The run's own requests to this bucket within the last minute. */
export function recentRequests(t: Trial, bucket: Bucket, account: AccountUnderTest): Exchange[] {
  const sinceMs = t.target.clock.now() - minuteMs;
  const owner = bucket === 'address' ? undefined : (account.accountId ?? 'own');
  const flooded = bucket === 'address' ? 'received' : bucket;
  return t.target.log.filter(
    ({ endpoint, caller, answeredAt }) =>
      endpoint === flooded && caller.account === owner && answeredAt > sinceMs,
  );
}

/** Clear of the full minute, where a service's clock may be a little behind. */
const intoMinuteMs = 500;

/** Waits until every bucket is full and a new minute of the clock has just begun. */
export async function waitForNewMinute(t: Trial): Promise<void> {
  const now = t.now();
  await t.advance(Math.ceil((now + 2 * minuteMs) / minuteMs) * minuteMs + intoMinuteMs - now);
}
