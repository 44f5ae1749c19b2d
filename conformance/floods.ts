/**
 * Floods one endpoint with more requests than its limit: all rules about a limit are judged on
 * these requests. Rules: LIMIT-1 to LIMIT-7, READ-3, AUTH-6, ERR-3, ERR-4.
 * Opens connections first, so that requests arrive together. Sends one request well before the
 * others, so that the kind of refill shows (`limiterRefill`). Directly after the flood, while the
 * bucket is empty, it sends everything that an empty bucket must not affect.
 */
import { minuteMs } from '../src/ledger/time-units.ts';
import { type Bucket, endpoints, limitOf } from './buckets.ts';
import { type Reply, SendsExhausted } from './client.ts';
import type { Exchange } from './judges/exchange.ts';
import { messagesOfOthers } from './judges/other-traffic.ts';
import { agentOf, flood, isSending, passed, pathFor, queriesOf, request } from './limited.ts';
import type { Recording } from './recording.ts';
import type { Need } from './target.ts';
import { type Fields, paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';
import { type Wait, waitOut } from './wait-out.ts';

export interface Flood {
  readonly account: Subject;
  readonly replies: readonly Reply[];
  /** The replies with 429. */
  readonly refusals: readonly Reply[];
  readonly tookMs: number;
  /** The first request and its reply. */
  readonly first: { readonly fields: Fields; readonly reply: Reply };
  /** The bodies of refused requests; each message text contains its `request_id`. */
  readonly refused: readonly Fields[];
  /** The reply to a call that claims to be forwarded from another address. */
  readonly forwarded: Reply | undefined;
  readonly wait: Wait | undefined;
}

/** Requests beyond the limit, so that a wrong count of simultaneous requests shows. */
const surplus = 4;
/** If none is refused, the flood goes on to this many beyond the limit. */
const mostSurplus = 20;
/** Connections that a flood uses at the same time. */
const atOnce = 16;
/**
 * From the first request to the others. Not a whole number of seconds, so that the end of a wait
 * shows which of them returned its token.
 */
const apartMs = 1_850;
/** By then every permitted bucket is full. */
const fullAgainMs = 2 * minuteMs + 1_000;

export const floodOf: Readonly<Record<Bucket, Recording<Flood>>> = {
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
    full: [bucket],
    account: { sims: 2 },
    record: (t, account) => record(t, account, bucket),
  };
}

async function record(t: Trial, account: Subject, bucket: Bucket): Promise<Flood> {
  const canWait = t.target.timeoutMs > minuteMs + apartMs;
  // Each flood sees what the previous one left of its bucket.
  let burst = await t.inTurn('flood', () => spend(t, account, bucket));
  if (burst.hadTooFew && canWait) burst = (await spendAgain(t, account, bucket)) ?? burst;
  const wait = await waitOut(t, burst.call, { bucket, ...burst });
  const times = limitOf(bucket) + surplus;
  if (burst.hadTooMany && canWait && hasBudget(t, times)) {
    // Shows whether the limit breaks only when requests arrive at once.
    await t.pause(fullAgainMs, `the limit of ${bucket}`);
    await flood(times, burst.call, 1);
  }
  return { ...burst, wait };
}

/**
 * A second flood after one that had too few passes: the bucket may not have been full, or another
 * client used it. It is full a minute after this run has emptied it, and two floods agree if no
 * other client uses it. Undefined if the budget does not cover it.
 */
async function spendAgain(t: Trial, account: Subject, bucket: Bucket): Promise<Burst | undefined> {
  await t.pause(minuteMs + apartMs, `the limit of ${bucket}`);
  try {
    return await spend(t, account, bucket);
  } catch (error) {
    if (error instanceof SendsExhausted) return undefined;
    throw error;
  }
}

/** A flood, without what comes after it. */
interface Burst extends Omit<Flood, 'wait'> {
  /** True if too few requests passed, or another endpoint was throttled, for an unknown reason. */
  readonly hadTooFew: boolean;
  /** True if more requests passed than the limit allows. */
  readonly hadTooMany: boolean;
  /** Sends one more request of the flood. */
  readonly call: () => Promise<Reply>;
}

async function spend(t: Trial, account: Subject, bucket: Bucket): Promise<Burst> {
  const { clock, startedAt } = t.target;
  const limit = limitOf(bucket);
  const { call, sent } = await callerOf(t, account, bucket);
  const beganAt = clock.now();
  const spentEarlier = spentBefore(t, bucket, account);
  const first = await call(0);
  const isAnswered = passed(first) || (bucket === 'address' && first.status === 401);
  if (isAnswered && bucket === 'send') {
    await readOften(t, account, first);
    await t.pause(apartMs, 'time to pass');
  }
  const times = isAnswered ? Math.max(0, limit - spentEarlier - 1) + surplus : 0;
  const replies = [first, ...(await flood(times, (i) => call(i + 1)))];
  const mostReplies = () => limit + mostSurplus + ((clock.now() - beganAt) / minuteMs) * limit;
  const isThrottled = () => replies.some(({ status }) => status === 429);
  while (isAnswered && !isThrottled() && replies.length < mostReplies())
    replies.push(...(await flood(surplus, (i) => call(i + 1))));
  const tookMs = clock.now() - beganAt;
  const refusals = replies.filter(({ status }) => status === 429);
  const refused: Fields[] = [];
  for (const { body, reply } of sent) if ((await reply).status === 429) refused.push(body);
  const passes = replies.length - refusals.length;
  const isKnown = t.controlled || (beganAt - startedAt >= minuteMs && areOthersKnown(t));
  let forwarded: Reply | undefined;
  let areOthersRefused = false;
  if (refusals.length > 0) {
    areOthersRefused = await requestOthers(t, bucket, account);
    if (bucket === 'address')
      forwarded = await t.get(paths.received, undefined, { 'x-forwarded-for': '203.0.113.9' });
    await readsOf(t, account, first);
  }
  const hasTooFew = passes + spentEarlier < limit || areOthersRefused;
  return {
    account,
    hadTooFew: !isKnown && refusals.length > 0 && hasTooFew,
    hadTooMany: passes > limit + 1 + (tookMs / minuteMs) * limit,
    replies,
    refusals,
    tookMs,
    first: { fields: sent[0]?.body ?? {}, reply: first },
    refused,
    forwarded,
    call: () => call(limit),
  };
}

/** A send of a flood. */
interface Sent {
  readonly body: Fields;
  readonly reply: Promise<Reply>;
}

/**
 * Prepares a flood. `call` then sends its request of this index; `sent` lists its sends so far. The
 * requests vary by key, SIM, client and query, on none of which the limit may depend.
 */
async function callerOf(t: Trial, account: Subject, bucket: Bucket) {
  const hasOther = t.controlled || t.target.flags.otherApiKey !== undefined;
  const keys = [account.key, hasOther ? (await t.secondKey(account)).key : account.key];
  await prepare(t, account, bucket);
  // The probe of queries spends from the bucket: it counts as one of the run's earlier requests.
  const queryOf = bucket === 'address' ? () => '' : await queriesOf(t, bucket, account);
  const sent: Sent[] = [];
  const call = (index: number): Promise<Reply> => {
    const headers = agentOf(index);
    if (bucket === 'address') return t.get(paths.received, undefined, headers);
    const key = keys[index % 2];
    // Every SIM is used with both keys.
    const sims = account.sims.slice((index >> 1) % account.sims.length);
    if (!isSending(bucket))
      return request(t, bucket, { ...account, sims }, key, { headers, query: queryOf(index) });
    // New ids, so that each later replay has the same number of messages after it.
    const request_id = t.requestId();
    const from = sims[0]?.number ?? account.from;
    const body = t.fields(account, { request_id, from, message: `conformance ${request_id}` });
    const reply = t.post(pathFor(bucket, account), key, body, headers);
    sent.push({ body, reply });
    return reply;
  };
  return { call, sent };
}

/** Waits until a flood may start, opens connections, and sends what must spend no token. */
async function prepare(t: Trial, account: Subject, bucket: Bucket): Promise<void> {
  if (isSending(bucket)) refuseBeyondBudget(t, limitOf(bucket) + surplus);
  if (t.controlled) await t.pause(fullAgainMs, 'a full bucket');
  await inTheMiddleOfAMinute(t);
  await warmUp(t, account);
  if (bucket !== 'address') return;
  // All come from this address, but a user's requests have a limit of their own, and a revoked key
  // does not count for its user (AUTH-6).
  await revokedCalls(t, account);
  await flood(userTimes, () => t.get(paths.received, account.key));
}

/** The run's own requests to this bucket within the last minute that may have spent a token. */
function spentBefore(t: Trial, bucket: Bucket, account: Subject): number {
  return recent(t, bucket, account).filter(({ reply }) => reply.status !== 429).length;
}

/** The run's own requests to this bucket within the last minute. */
function recent(t: Trial, bucket: Bucket, account: Subject): Exchange[] {
  const sinceMs = t.target.clock.now() - minuteMs;
  const owner = bucket === 'address' ? undefined : (account.accountId ?? 'own');
  const flooded = bucket === 'address' ? 'received' : bucket;
  return t.target.log.filter(
    ({ endpoint, caller, answeredAt }) =>
      endpoint === flooded && caller.account === owner && answeredAt > sinceMs,
  );
}

function hasBudget({ target }: Trial, sends: number): boolean {
  const { client, maxSends } = target;
  return maxSends === undefined || client.sends + sends <= maxSends;
}

/** Ends a flood that the budget does not cover: a part of it would cost sends and prove nothing. */
function refuseBeyondBudget(t: Trial, sends: number): void {
  const { client } = t.target;
  if (hasBudget(t, sends)) return;
  client.budgetReached = true;
  throw new SendsExhausted(`the flood needs ${sends} sends, more than --max-sends leaves`);
}

/** So late in the minute that a request before the end of a wait of 59 s is in the next one. */
const middleMs = 5_000;
/** A flood that starts later in the minute may not end in it. */
const tooLateMs = 48_000;

/**
 * Waits for the middle of a minute, because a bucket that refills with each full minute would
 * otherwise let twice as many pass.
 */
async function inTheMiddleOfAMinute(t: Trial): Promise<void> {
  const intoMs = t.target.clock.now() % minuteMs;
  if (intoMs < middleMs) await t.pause(middleMs - intoMs, 'the next minute');
  else if (intoMs > tooLateMs && t.target.timeoutMs > 20_000)
    await t.pause(minuteMs + middleMs - intoMs, 'the next minute');
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

/** Calls with a revoked key. */
async function revokedCalls(t: Trial, account: Subject): Promise<void> {
  let key = t.target.flags.revokedKey;
  if (t.controlled) {
    const revoked = await t.secondKey(account);
    await t.revoke(revoked);
    key = revoked.key;
  }
  if (key !== undefined) await flood(revokedTimes, () => t.get(paths.received, key));
}

function areOthersKnown({ target }: Trial): boolean {
  return messagesOfOthers(target.log) !== undefined;
}

/**
 * Requests everything that the empty bucket must not affect: each other endpoint, and the flooded
 * one for another account or from another address. True if another endpoint answered 429.
 */
async function requestOthers(t: Trial, bucket: Bucket, account: Subject): Promise<boolean> {
  let isRefused = false;
  const flooded = bucket === 'address' ? undefined : bucket;
  for (const endpoint of endpoints) {
    // Without a control port, only floods of sends send a message: they test this pair of endpoints
    // from the other side.
    const isCostly = isSending(endpoint) && !isSending(bucket) && !t.controlled;
    if (endpoint === flooded || isCostly) continue;
    if (endpoint === 'tasks' && account.sims.length === 0) continue;
    // An endpoint that was flooded earlier is empty because of its own limit.
    if (recent(t, endpoint, account).some(({ reply }) => reply.status === 429)) continue;
    const { status } = await request(t, endpoint, account);
    isRefused ||= status === 429;
  }
  if (flooded !== undefined && (t.controlled || t.target.flags.secondApiKey !== undefined)) {
    const other = await t.otherAccount();
    if (flooded === 'tasks') await t.get(pathFor(flooded, account), other.key);
    else await request(t, flooded, other);
  }
  if (bucket === 'received') await fromSecondAddress(t, { authorization: `Bearer ${account.key}` });
  if (bucket === 'address') await fromSecondAddress(t, {});
  return isRefused;
}

/** So many at once that the tokens which return meanwhile do not explain it if all pass. */
const secondAddressTimes = 20;

/** Requests of the same caller from another address, if the target is on this machine. */
async function fromSecondAddress(t: Trial, headers: Readonly<Record<string, string>>) {
  if (!/^(localhost|127\.)/.test(new URL(t.target.client.baseUrl).hostname)) return;
  const localAddress = '127.0.0.2';
  const request = { method: 'GET', path: paths.received, headers, localAddress, retried: false };
  await flood(secondAddressTimes, () => t.request(request));
}

/** Reads the statistics and the first message: neither is limited (READ-3, LIMIT-6). */
async function readsOf(t: Trial, account: Subject, first: Reply): Promise<void> {
  await t.get(paths.stats, account.key);
  const id = verify.isObject(first.json) ? first.json['message_id'] : undefined;
  if (typeof id === 'string') await flood(5, () => t.read(account, id));
}
