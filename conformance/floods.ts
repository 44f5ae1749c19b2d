/**
 * Floods one endpoint: all rules about a limit are judged on the same requests. Rules: LIMIT-1 to
 * LIMIT-7, READ-3, AUTH-6, ERR-3, ERR-4.
 * Opens connections first, so that requests arrive together. Sends one request well before the
 * others, so that the kind of refill shows (`limiterRefill`). Everything that the empty bucket must
 * not affect is asked directly after it.
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
const mostSurplus = 20;
const atOnce = 16;
/** Not a whole number of seconds from any wait, so that it shows whose token comes back. */
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
  // Each flood sees what the previous one left of its bucket.
  const burst = t.inTurn('flood', () => spend(t, account, bucket));
  let { call, hadTooFew, ...one } = await burst;
  if (hadTooFew && t.target.timeoutMs > minuteMs + apartMs) {
    // The bucket may not have been full, or another client used it. It is full a minute after this
    // run has emptied it, and two floods agree if no other client uses it.
    await t.pause(minuteMs + apartMs, `the limit of ${bucket}`);
    ({ call, hadTooFew, ...one } = await spend(t, account, bucket).catch((error: unknown) => {
      if (error instanceof SendsExhausted) return burst;
      throw error;
    }));
  }
  const wait = await waitOut(t, call, { bucket, ...one });
  if (
    one.hadTooMany &&
    t.target.timeoutMs > minuteMs + apartMs &&
    hasBudget(t, limitOf(bucket) + surplus)
  ) {
    // Shows whether the limit breaks only when requests arrive at once.
    await t.pause(fullAgainMs, `the limit of ${bucket}`);
    await flood(limitOf(bucket) + surplus, call, 1);
  }
  return { ...one, wait };
}

async function spend(t: Trial, account: Subject, bucket: Bucket) {
  const { clock, startedAt } = t.target;
  const one = bucket === 'address' ? undefined : bucket;
  const limit = limitOf(bucket);
  const hasOther = t.controlled || t.target.flags.otherApiKey !== undefined;
  const keys = [account.key, hasOther ? (await t.secondKey(account)).key : account.key];
  const sent: { readonly body: Fields; readonly reply: Promise<Reply> }[] = [];
  let queryOf = (_: number) => '';
  const call = (i: number): Promise<Reply> => {
    const headers = agentOf(i);
    if (one === undefined) return t.get(paths.received, undefined, headers);
    const key = keys[i % 2];
    const ofSim = { ...account, sims: account.sims.slice((i >> 1) % account.sims.length) };
    if (!isSending(one)) return request(t, one, ofSim, key, { headers, query: queryOf(i) });
    // New ids, so that each later replay has the same number of messages after it.
    const request_id = t.requestId();
    const from = ofSim.sims[0]?.number ?? account.from;
    const message = `conformance ${request_id}`;
    const body = t.fields(account, { request_id, from, message });
    const reply = t.post(pathFor(one, account), key, body, headers);
    sent.push({ body, reply });
    return reply;
  };
  if (isSending(bucket)) refuseBeyondBudget(t, limit + surplus);
  if (t.controlled) await t.pause(fullAgainMs, 'a full bucket');
  await inTheMiddleOfAMinute(t);
  await warmUp(t, account);
  // Both come from this address, but each must be counted by its own limit: a user's requests do
  // not spend from the address's bucket, and a revoked key does not count for its user (AUTH-6).
  if (bucket === 'address') {
    await revokedCalls(t, account);
    await flood(userTimes, () => t.get(paths.received, account.key));
  }
  // The probe counts as one of the run's earlier requests.
  if (one !== undefined) queryOf = await queriesOf(t, one, account);
  const beganAt = clock.now();
  const known = spentBefore(t, bucket, account);
  const first = await call(0);
  const isAnswered = passed(first) || (bucket === 'address' && first.status === 401);
  if (isAnswered && bucket === 'send') {
    await readOften(t, account, first);
    await t.pause(apartMs, 'time to pass');
  }
  const times = isAnswered ? Math.max(0, limit - known - 1) + surplus : 0;
  const replies = [first, ...(await flood(times, (i) => call(i + 1)))];
  const most = () => limit + mostSurplus + ((clock.now() - beganAt) / minuteMs) * limit;
  while (isAnswered && replies.every(({ status }) => status !== 429) && replies.length < most())
    replies.push(...(await flood(surplus, (i) => call(i + 1))));
  const tookMs = clock.now() - beganAt;
  const refusals = replies.filter(({ status }) => status === 429);
  const refused: Fields[] = [];
  for (const { body, reply } of sent) if ((await reply).status === 429) refused.push(body);
  const passes = replies.length - refusals.length + known;
  const isKnown = t.controlled || (beganAt - startedAt >= minuteMs && areOthersKnown(t));
  let forwarded: Reply | undefined;
  let areOthersRefused = false;
  if (refusals.length > 0) {
    areOthersRefused = await requestOthers(t, bucket, account);
    if (bucket === 'address')
      forwarded = await t.get(paths.received, undefined, { 'x-forwarded-for': '203.0.113.9' });
    await readsOf(t, account, first);
  }
  return {
    account,
    hadTooFew: !isKnown && refusals.length > 0 && (passes < limit || areOthersRefused),
    hadTooMany: passes - known > limit + 1 + (tookMs / minuteMs) * limit,
    replies,
    refusals,
    tookMs,
    first: { fields: sent[0]?.body ?? {}, reply: first },
    refused,
    forwarded,
    call: () => call(limit),
  };
}

/** The run's own requests to this bucket within the last minute that may have spent a token. */
function spentBefore(t: Trial, bucket: Bucket, account: Subject): number {
  return recent(t, bucket, account).filter(({ reply }) => reply.status !== 429).length;
}

function recent(t: Trial, bucket: Bucket, account: Subject): Exchange[] {
  const since = t.target.clock.now() - minuteMs;
  const owner = bucket === 'address' ? undefined : (account.accountId ?? 'own');
  const endpoint = bucket === 'address' ? 'received' : bucket;
  return t.target.log.filter(
    (one) => one.endpoint === endpoint && one.caller.account === owner && one.answeredAt > since,
  );
}

function hasBudget({ target }: Trial, sends: number): boolean {
  const { client, maxSends } = target;
  return maxSends === undefined || client.sends + sends <= maxSends;
}

/** Skips the flood if the budget does not cover it: a part would cost sends and prove nothing. */
function refuseBeyondBudget(t: Trial, sends: number): void {
  const { client } = t.target;
  if (hasBudget(t, sends)) return;
  client.budgetReached = true;
  throw new SendsExhausted(`the flood needs ${sends} sends, more than --max-sends leaves`);
}

/** So late that the request before the end of a wait of 59 s comes in the next minute. */
const middleMs = 5_000;

/**
 * Waits for the middle of a minute, because a bucket that refills with each full minute would
 * otherwise let twice as many pass.
 */
async function inTheMiddleOfAMinute(t: Trial): Promise<void> {
  const intoMs = t.target.clock.now() % minuteMs;
  if (intoMs < middleMs) await t.pause(middleMs - intoMs, 'the next minute');
  else if (intoMs > 48_000 && t.target.timeoutMs > 20_000)
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

/** A request to everything that the empty bucket must not affect. True if one was throttled. */
async function requestOthers(t: Trial, bucket: Bucket, account: Subject): Promise<boolean> {
  let isRefused = false;
  const flooded = bucket === 'address' ? undefined : bucket;
  for (const one of endpoints) {
    // Skipped, so that a flood of other requests costs no send; the floods of sends test this pair
    // from the other side.
    if (one === flooded || (isSending(one) && !isSending(bucket) && !t.controlled)) continue;
    if (one === 'tasks' && account.sims.length === 0) continue;
    // An endpoint that was flooded earlier is empty because of its own limit.
    if (recent(t, one, account).some(({ reply }) => reply.status === 429)) continue;
    const { status } = await request(t, one, account);
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

/** So many at once that no token which came back meanwhile explains that all pass. */
const secondAddressTimes = 20;

/** The same caller from another address, if the target is on this machine. */
async function fromSecondAddress(t: Trial, headers: Readonly<Record<string, string>>) {
  if (!/^(localhost|127\.)/.test(new URL(t.target.client.baseUrl).hostname)) return;
  const localAddress = '127.0.0.2';
  const request = { method: 'GET', path: paths.received, headers, localAddress, retried: false };
  await flood(secondAddressTimes, () => t.request(request));
}

async function readsOf(t: Trial, account: Subject, first: Reply): Promise<void> {
  await t.get(paths.stats, account.key);
  const id = verify.isObject(first.json) ? first.json['message_id'] : undefined;
  if (typeof id === 'string') await flood(5, () => t.read(account, id));
}
