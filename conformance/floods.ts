/**
 * Floods one endpoint, for runs without a control port: all rules about a limit are judged on the
 * same requests.
 * Rules: LIMIT-1 to LIMIT-7, READ-3, AUTH-6, ERR-3, ERR-4. Opens connections first, so that
 * requests arrive together. Sends one request well before the others, so that the kind of refill
 * shows (`limiterRefill`).
 */
import { type Bucket, limitOf, minuteMs, type Spent } from './buckets.ts';
import { type Reply, SendsExhausted } from './client.ts';
import { flood } from './flood.ts';
import { agentOf, limited, passed, queriesOf } from './limited.ts';
import type { Recording } from './recording.ts';
import type { Need } from './target.ts';
import { type Fields, paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';
import { type Wait, waitOut } from './wait-out.ts';

export interface Flood {
  readonly bucket: Bucket;
  readonly limit: number;
  /** Requests of this run to the bucket within the minute before the flood. */
  readonly before: Spent;
  /** True if the run sent few or no requests to it for a minute, so that the bucket was full. */
  readonly wasFull: boolean;
  readonly replies: readonly Reply[];
  readonly refusals: readonly Reply[];
  /** When the first request was sent, in the run's clock. */
  readonly beganAt: number;
  readonly tookMs: number;
  /** True if a minute of the clock began during the flood, which may have refilled the bucket. */
  readonly mayHaveFilled: boolean;
  /** The same, counted from the run's earlier requests. */
  readonly mayHaveFilledBefore: boolean;
  /** The first request and its reply. */
  readonly first: { readonly fields: Fields; readonly reply: Reply };
  /** The bodies of refused requests; each message text contains its `request_id`. */
  readonly refused: readonly Fields[];
  /** Replies of other endpoints and users directly after the flood, while the bucket is empty. */
  readonly otherReplies: readonly { readonly name: string; readonly reply: Reply }[];
  readonly reads: readonly Reply[];
  readonly wait: Wait | undefined;
}

/** Requests beyond the limit, so that a wrong count of simultaneous requests shows. */
const surplus = 4;
const mostSurplus = 20;
const atOnce = 16;
const apartMs = 1_600;

type Shared = (typeof limited)[number]['name'];

export const floodOf: Readonly<Record<Shared | 'address', Recording<Flood>>> = {
  send: recordingOf('send', ['sender']),
  dashboard_send: recordingOf('dashboard_send', ['sender']),
  external_send: recordingOf('external_send', ['sender']),
  received: recordingOf('received', ['key']),
  tasks: recordingOf('tasks', ['key', 'device']),
  address: recordingOf('address', ['key']),
};

function recordingOf(bucket: Bucket, needs: readonly Need[]): Recording<Flood> {
  return {
    name: `flood of ${bucket}`,
    needs,
    spends: { [bucket]: limitOf(bucket) + surplus + 3 },
    throttled: surplus + 3,
    seconds: 66,
    waits: 0,
    full: [bucket],
    record: (t) => record(t, bucket),
  };
}

/** Floods run one after another, so that each sees what the previous one left of its bucket. */
const turns = new WeakMap<object, Promise<unknown>>();

async function record(t: Trial, bucket: Bucket): Promise<Flood> {
  const before = turns.get(t.target) ?? Promise.resolve();
  const burst = before.then(() => spend(t, bucket));
  turns.set(
    t.target,
    burst.catch(() => {}),
  );
  let { call, ...flood } = await burst;
  if (hadTooFew(flood) && t.target.timeoutMs > minuteMs + fullAgainMs) {
    // The bucket may not have been full. It is full a minute after this run has emptied it.
    await t.pause(minuteMs + fullAgainMs, `the limit of ${bucket}`);
    ({ call, ...flood } = await spend(t, bucket));
  }
  return { ...flood, wait: await waitOut(t, call, flood) };
}

const fullAgainMs = 1_500;

function hadTooFew({ wasFull, refusals, replies, before, limit }: Omit<Flood, 'wait'>): boolean {
  const through = replies.length - refusals.length;
  return !wasFull && refusals.length > 0 && through + before.passed + before.refused < limit;
}

async function spend(t: Trial, bucket: Bucket) {
  const { clock, startedAt } = t.target;
  const account = await t.account();
  const one = limited.find(({ name }) => name === bucket);
  const limit = limitOf(bucket);
  const keys = [account.key, t.target.flags.otherApiKey ?? account.key];
  const sent: { readonly body: Fields; readonly reply: Promise<Reply> }[] = [];
  let queryOf = (_: number) => '';
  const call = (i: number): Promise<Reply> => {
    const headers = agentOf(i);
    if (one === undefined) return t.get(paths.received, undefined, headers);
    const key = keys[i % 2];
    if (!one.isSend) return one.call(t, account, key, { headers, query: queryOf(i) });
    // New ids, so that each later replay has the same number of messages after it.
    const request_id = t.requestId();
    const body = t.fields(account, { request_id, message: `conformance ${request_id}` });
    const reply = t.post(one.path(account), key, body, headers);
    sent.push({ body, reply });
    return reply;
  };
  if (one?.isSend) refuseBeyondBudget(t, limit + surplus);
  await inTheMiddleOfAMinute(t);
  await warmUp(t, account);
  // Both come from this address, but each must be counted by its own limit.
  const revoked = bucket === 'address' ? await revokedCalls(t) : [];
  // A user's requests do not spend from the address's bucket (AUTH-6).
  if (bucket === 'address') await flood(userTimes, () => t.get(paths.received, account.key));
  // The probe counts as one of the run's earlier requests.
  if (one !== undefined) queryOf = await queriesOf(t, one, account);
  const beganAt = clock.now();
  const spent = t.target.ledger.spent(bucket, beganAt);
  const first = await call(0);
  const isAnswered = passed(first) || (bucket === 'address' && first.status === 401);
  if (isAnswered && bucket === 'send') {
    await readOften(t, account, first);
    await t.pause(apartMs, 'time to pass');
  }
  const known = spent.passed + spent.replayed + spent.refused;
  const times = isAnswered ? Math.max(0, limit - known - 1) + surplus : 0;
  const replies = [first, ...(await flood(times, (i) => call(i + 1)))];
  const most = () => limit + mostSurplus + ((clock.now() - beganAt) / minuteMs) * limit;
  while (isAnswered && replies.every(({ status }) => status !== 429) && replies.length < most())
    replies.push(...(await flood(surplus, (i) => call(i + 1))));
  const endedAt = clock.now();
  const refusals = replies.filter(({ status }) => status === 429);
  const refused: Fields[] = [];
  for (const { body, reply } of sent) if ((await reply).status === 429) refused.push(body);
  return {
    bucket,
    limit,
    before: spent,
    wasFull: beganAt - startedAt >= minuteMs,
    replies,
    refusals,
    beganAt,
    tookMs: endedAt - beganAt,
    mayHaveFilled: mayFill(beganAt, endedAt),
    mayHaveFilledBefore: mayFill(spent.times[0]?.sentAt ?? beganAt, endedAt),
    first: { fields: sent[0]?.body ?? {}, reply: first },
    refused,
    otherReplies: [
      ...revoked,
      ...(refusals.length > 0 ? await requestOthers(t, bucket, account) : []),
    ],
    reads: refusals.length > 0 ? await readsOf(t, account, first) : [],
    call: () => call(limit),
  };
}

/** True if a minute of the clock began during the flood, or may have. */
function mayFill(from: number, to: number): boolean {
  const isLong = to - from > minuteMs - 2_000;
  return isLong || Math.floor(from / minuteMs) !== Math.floor(to / minuteMs);
}

/** Skips the flood if the budget does not cover it: a part would cost sends and prove nothing. */
function refuseBeyondBudget(t: Trial, sends: number): void {
  const { client, maxSends } = t.target;
  if (maxSends === undefined || client.sends + sends <= maxSends) return;
  client.budgetReached = true;
  throw new SendsExhausted(`the flood needs ${sends} sends, more than --max-sends leaves`);
}

/**
 * Waits for the middle of a minute, because a bucket that refills with each full minute would
 * otherwise let twice as many pass.
 */
async function inTheMiddleOfAMinute(t: Trial): Promise<void> {
  const intoMs = t.target.clock.now() % minuteMs;
  if (intoMs < 1_000) await t.pause(1_000 - intoMs, 'the next minute');
  else if (intoMs > 48_000 && t.target.timeoutMs > 15_000)
    await t.pause(minuteMs + 1_000 - intoMs, 'the next minute');
}

/**
 * Opens connections with requests that are not limited, which must not spend from the bucket
 * (LIMIT-7).
 */
async function warmUp(t: Trial, account: Subject): Promise<void> {
  for (let round = 0; round < 2; round += 1)
    await flood(2 * atOnce, () => t.get(paths.stats, account.key));
}

const readTimes = 40;

/** Sends reads, which must not spend from the bucket either (LIMIT-7). */
async function readOften(t: Trial, account: Subject, { json }: Reply): Promise<void> {
  const id = verify.isObject(json) ? json['message_id'] : undefined;
  if (typeof id === 'string') await flood(readTimes, () => t.read(account, id));
}

const userTimes = 20;
const revokedTimes = 30;

/** Sends requests with a revoked key, which must not count for the key's user (AUTH-6). */
async function revokedCalls(t: Trial) {
  const key = t.target.flags.revokedKey;
  if (key === undefined) return [];
  const replies = await flood(revokedTimes, () => t.get(paths.received, key));
  return replies.map((reply) => ({ name: 'revoked', reply }));
}

/** One request to everything that the empty bucket must not affect. */
async function requestOthers(t: Trial, bucket: Bucket, account: Subject) {
  const otherReplies: { name: string; reply: Reply }[] = [];
  const now = t.target.clock.now();
  const isSend = limited.some(({ name, isSend: sends }) => name === bucket && sends);
  for (const one of limited) {
    // Skipped, so that a flood of other requests costs no send; the floods of sends test this pair
    // from the other side.
    if (one.name === bucket || (one.isSend && !isSend)) continue;
    if (one.name === 'tasks' && account.sims.length === 0) continue;
    // An endpoint that was flooded earlier is empty because of its own limit.
    if (t.target.ledger.spent(one.name, now).throttled > 0) continue;
    otherReplies.push({ name: one.name, reply: await one.call(t, account) });
  }
  const one = limited.find(({ name }) => name === bucket);
  if (t.target.flags.secondApiKey !== undefined && one !== undefined) {
    const other = await t.otherAccount();
    const reply = one.isSend
      ? await t.post(one.path(account), other.key, t.fields(other))
      : await t.get(one.path(account), other.key);
    otherReplies.push({ name: 'other account', reply });
  }
  if (bucket === 'received') {
    const reply = await fromSecondAddress(t, account);
    if (reply !== undefined) otherReplies.push({ name: 'second address', reply });
  }
  if (bucket === 'address') {
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const reply = await t.request({ method: 'GET', path: paths.received, headers });
    otherReplies.push({ name: 'forwarded', reply });
  }
  return otherReplies;
}

/** The same user from another address, if the target is on this machine. */
async function fromSecondAddress(t: Trial, { key }: Subject): Promise<Reply | undefined> {
  if (!/^(localhost|127\.)/.test(new URL(t.target.client.baseUrl).hostname)) return undefined;
  const reply = await t.request({
    method: 'GET',
    path: paths.received,
    headers: { authorization: `Bearer ${key}` },
    localAddress: '127.0.0.2',
    retried: false,
  });
  return reply.status === 0 ? undefined : reply;
}

async function readsOf(t: Trial, account: Subject, first: Reply): Promise<Reply[]> {
  const replies = [await t.get(paths.stats, account.key)];
  const id = verify.isObject(first.json) ? first.json['message_id'] : undefined;
  if (typeof id !== 'string') return replies;
  return [...replies, ...(await flood(5, () => t.read(account, id)))];
}

/** The number of requests that passed, including the run's earlier ones. */
export function howManyPassed({ replies, before }: Flood): number {
  return replies.filter(passed).length + before.passed;
}
