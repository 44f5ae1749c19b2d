/**
 * Floods one endpoint with more requests than its limit: all rules about a limit are judged on
 * these requests. Rules: LIMIT-1 to LIMIT-7, READ-3, AUTH-6, ERR-3, ERR-4.
 * Waits for a full bucket, and opens connections first, so that requests arrive together. Sends one
 * request well before the others, so that the kind of refill shows (`limiterRefill`). Directly
 * after the flood, while the bucket is empty, it sends what an empty bucket must not affect.
 */
import { documentedLimits, messageMaxCharacters } from '#contract/limits.ts';
import { hourMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { longestReachMs } from '#judging/limiter/models.ts';
import { messagesOfOthers } from '#judging/limiter/other-traffic.ts';
import { waitIn } from '#judging/service/expectations.ts';
import { type Bucket, isSending, limitOf } from '../run/budget.ts';
import type { Recording } from '../run/recording.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/trial.ts';
import { SendsExhausted } from '../target/client.ts';
import { type Need, otherRecipientOf } from '../target/target.ts';
import { refillOf, requestWhileEmpty, type Wait, waitOut } from './after-flood.ts';
import { fullAgainMs, hasBudget, prepareFlood } from './before-flood.ts';
import {
  agentOf,
  flood,
  isRefused,
  passed,
  pathFor,
  queriesOf,
  readMessageOf,
  recentRequests,
  requestTo,
} from './limited-requests.ts';

export interface Flood {
  readonly account: AccountUnderTest;
  readonly replies: readonly Reply[];
  readonly refusals: readonly Reply[];
  readonly tookMs: number;
  /** The first request and its reply. */
  readonly first: { readonly fields: Fields; readonly reply: Reply };
  /** When the run's requests in the minute before it were sent that may have spent a token. */
  readonly earlierAt: readonly number[];
  /** The bodies of refused requests; each message text contains its `request_id`. */
  readonly refused: readonly Fields[];
  /** The reply to a call that claims to be forwarded from another address. */
  readonly forwarded: Reply | undefined;
  readonly wait: Wait | undefined;
}

/** Requests beyond the limit, so that a wrong count of simultaneous requests shows. */
const surplus = 3;
/** If none is refused, the flood goes on to this many beyond the limit. */
const mostSurplus = 20;
/** The time from the first request to the others: their tokens return at different seconds. */
const apartMs = 1_850;
/** Reads of a message within a flood: if they spend from the bucket, it is too small by a third. */
const readsWhileFull = 40;
/** The requests that waiting out a refusal adds to a flood, as planned. */
const plannedForWait = 3;
/** The planned duration: the flood itself, and a minute until the tokens have returned. */
const plannedSeconds = 66;

/**
 * The places of invalid sends in a flood of `send`: an error must give back nothing that was spent
 * before it. Two of them, because one would make a limit that is wrong by one look right, by its token.
 */
const invalidPlaces: readonly number[] = [60, 61];
const isInvalid = (bucket: Bucket, index: number) =>
  bucket === 'send' && invalidPlaces.includes(index % documentedLimits.send);

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
    spends: { [bucket]: limitOf(bucket) + surplus + plannedForWait },
    throttled: surplus + plannedForWait,
    seconds: plannedSeconds,
    fullBuckets: [bucket],
    account: { sims: 2 },
    record: (t, account) => recordFlood(t, account, bucket),
  };
}

async function recordFlood(t: Trial, account: AccountUnderTest, bucket: Bucket): Promise<Flood> {
  const canWait = t.target.timeoutMs > minuteMs + apartMs;
  // Each flood sees what the previous one left of its bucket.
  let burst = await t.inTurn('flood', () => floodOnce(t, account, bucket));
  if (burst.hadTooFew && canWait) burst = (await floodAgain(t, account, bucket)) ?? burst;
  const [wait] = await Promise.all([
    waitOut(t, burst.callSame, { bucket, ...burst }),
    bucket === 'send' && !t.hasControl && readUntilPickedUp(t, burst),
  ]);
  // Only of `send` is the refill observed (`isWhole`).
  const refill = wait && refillOf(burst.first.reply, burst.earlierAt, wait);
  if (bucket === 'send' && refill === 'sliding_counter') t.target.ledger.noteSlidingCounter();
  const times = limitOf(bucket) + surplus;
  if (burst.hadTooMany && canWait && hasBudget(t, times)) {
    // Shows whether the limit breaks only when requests arrive at once; if an interval that began
    // before the run may explain the first flood, whether it breaks at all.
    await t.pause(fullAgainMs, `the limit of ${bucket}`);
    await flood(times, burst.callNext, burst.knowsAll ? 1 : times);
  }
  return { ...burst, wait };
}

/** The last messages of a flood that are read until they are picked up, and for how long. */
const readToPickup = { most: 8, forMs: 27_000, everyMs: 1_000 };

/**
 * Reads some messages of a flood until they are picked up: a message that was sent long before, and
 * is queued at the end of the run, was then passed by.
 */
async function readUntilPickedUp(t: Trial, { account, replies }: Burst): Promise<void> {
  const endMs = t.now() + readToPickup.forMs;
  const accepted = replies.filter(({ status }) => status === 202);
  let queued = accepted.slice(-readToPickup.most).map(({ json }) => Object(json).message_id);
  while (queued.length > 0 && t.now() < endMs) {
    const reads = await flood(queued.length, (index) => t.read(account, String(queued[index])));
    queued = queued.filter((_, index) => Object(reads[index]?.json).status === 'queued');
    await t.pause(readToPickup.everyMs, 'the next status of messages');
  }
}

/**
 * A second flood after one that had too few passes: the bucket may not have been full, or another
 * client used it. It is full a minute after this run has emptied it, and two floods agree if no
 * other client uses it. If time permits, it comes so late that nothing spent before the run explains
 * a refusal. Undefined if the budget does not cover it.
 */
async function floodAgain(
  t: Trial,
  account: AccountUnderTest,
  bucket: Bucket,
): Promise<Burst | undefined> {
  const { startedAt, timeoutMs } = t.target;
  const untilAllIsKnownMs = startedAt + longestReachMs - t.now();
  const waitMs = Math.max(minuteMs + apartMs, Math.min(untilAllIsKnownMs, timeoutMs));
  await t.pause(waitMs, `the limit of ${bucket}`);
  try {
    return await floodOnce(t, account, bucket);
  } catch (error) {
    if (error instanceof SendsExhausted) return undefined;
    throw error;
  }
}

/** A flood, without what comes after it. */
interface Burst extends Omit<Flood, 'wait'> {
  /** True if too few passed, or another endpoint or account was refused, for an unknown reason. */
  readonly hadTooFew: boolean;
  /** True if more requests passed than the limit allows. */
  readonly hadTooMany: boolean;
  /** True if nothing that was spent before the run explains a reply. */
  readonly knowsAll: boolean;
  /** Sends one more request of the flood, always by the same key, SIM, client and query. */
  readonly callSame: () => Promise<Reply>;
  /** Sends one more request of the flood, in turn by each key, SIM, client and query. */
  readonly callNext: () => Promise<Reply>;
}

/** Empties the bucket, and sends what the empty bucket must not affect. */
async function floodOnce(t: Trial, account: AccountUnderTest, bucket: Bucket): Promise<Burst> {
  const { clock, startedAt, ledger } = t.target;
  const limit = limitOf(bucket);
  /** The index of the next further request. */
  let next = limit;
  const caller = await callerOf(t, account, bucket);
  const beganAt = clock.now();
  const earlierAt = spentBefore(t, bucket, account);
  const spentEarlier = earlierAt.length;
  // A second for the difference of the clocks, and a few for the flood itself.
  const mostCounted = ledger.countAt(bucket, beganAt - secondMs);
  const leastCounted = ledger.countAt(bucket, beganAt + 6 * secondMs);
  const replies = await sendUntilRefused(t, { account, bucket, spentEarlier }, caller.call);
  const tookMs = clock.now() - beganAt;
  const [first] = replies;
  const refusals = replies.filter(isRefused);
  const refused: Fields[] = [];
  for (const { body, reply } of caller.sent) if (isRefused(await reply)) refused.push(body);
  const whileEmpty =
    refusals.length > 0 ? await requestWhileEmpty(t, account, bucket, first) : undefined;
  const passes = replies.length - refusals.length;
  // Whether an invalid send spends a token is open (`errorsSpendToken`).
  const spenders =
    passes - replies.filter(({ status }, i) => status === 400 && isInvalid(bucket, i)).length;
  // After a broken connection, each try may have spent a token.
  const repeats = replies.reduce((sum, { interruptions }) => sum + interruptions, 0);
  // Tokens return during the flood only if they return one by one. A refusal then names a short wait.
  const isGradual = refusals.every((refusal) => (waitIn(refusal) ?? 0) < 2);
  const returned = isGradual ? (tookMs / minuteMs) * limit : 0;
  const isOtherRefused = caller.isUserRefused || whileEmpty?.isOtherRefused === true;
  const spent = passes + repeats;
  // A sliding counter still counts the run's requests of the minute before.
  const isCounted = spent + mostCounted > limit - 1 && spenders + leastCounted <= limit;
  const hasTooFew = (spent + spentEarlier < limit && !isCounted) || isOtherRefused;
  // Until then, what was spent before the run may explain a refusal.
  const knowsAll = t.hasControl || beganAt - startedAt >= longestReachMs;
  const isExplained = t.hasControl || (knowsAll && messagesOfOthers(t.target.log) !== undefined);
  return {
    account,
    hadTooFew: refusals.length > 0 && hasTooFew && !isExplained,
    hadTooMany: spenders > limit + returned,
    knowsAll,
    replies,
    refusals,
    tookMs,
    first: { fields: caller.sent[0]?.body ?? {}, reply: first },
    earlierAt,
    refused,
    forwarded: whileEmpty?.forwarded,
    callSame: () => caller.call(limit),
    callNext: () => caller.call(next++),
  };
}

interface FullBucket {
  readonly account: AccountUnderTest;
  readonly bucket: Bucket;
  /** The run's requests to it that do not count as the flood's. */
  readonly spentEarlier: number;
}

/**
 * Sends one request, then as many as the limit leaves and a few more, until one is refused. Only
 * the first one if it is not accepted. The replies come in the order of the requests.
 */
async function sendUntilRefused(
  t: Trial,
  { account, bucket, spentEarlier }: FullBucket,
  call: (index: number) => Promise<Reply>,
): Promise<[Reply, ...Reply[]]> {
  const { clock } = t.target;
  const limit = limitOf(bucket);
  const beganAt = clock.now();
  const first = await call(0);
  const isAccepted = passed(first) || (bucket === 'address' && first.status === 401);
  if (!isAccepted) return [first];
  if (bucket === 'send') {
    // Reads must not spend from the bucket either (LIMIT-7).
    await readMessageOf(t, account, first, readsWhileFull);
    await t.pause(apartMs, 'time to pass');
  }
  const times = Math.max(0, limit - spentEarlier - 1) + surplus;
  const replies: [Reply, ...Reply[]] = [first, ...(await flood(times, (i) => call(i + 1)))];
  const mostReplies = () => limit + mostSurplus + ((clock.now() - beganAt) / minuteMs) * limit;
  while (!replies.some(isRefused) && replies.length < mostReplies())
    replies.push(...(await flood(surplus, (i) => call(i + 1))));
  return replies;
}

interface Sent {
  readonly body: Fields;
  readonly reply: Promise<Reply>;
}

/**
 * Prepares a flood. `call` then sends its request of this index; `sent` lists its sends so far. The
 * requests vary by key, SIM, client, query, recipient and name of the sender, on none of which the
 * limit may depend.
 */
async function callerOf(t: Trial, account: AccountUnderTest, bucket: Bucket) {
  const keys = [account.key, await t.anotherKey(account)];
  const isUserRefused = await prepareFlood(t, account, bucket, limitOf(bucket) + surplus);
  // The probe of queries spends from the bucket: it counts as one of the run's earlier requests.
  const queryOf = bucket === 'address' ? () => '' : await queriesOf(t, bucket, account);
  const sent: Sent[] = [];
  const to = otherRecipientOf(t.target);
  const toOther = to === undefined ? {} : { to };
  const call = (index: number): Promise<Reply> => {
    const agent = agentOf(index);
    if (bucket === 'address') return t.get(paths.received, undefined, agent);
    // The limit of a user does not depend on the address (AUTH-6).
    const headers = { ...agent, 'x-forwarded-for': `192.0.2.${1 + (index % 2)}` };
    const key = keys[index % 2];
    // Every SIM is used with both keys.
    const sims = account.sims.slice(Math.floor(index / 2) % account.sims.length);
    if (!isSending(bucket))
      return requestTo(t, bucket, { ...account, sims }, { key, headers, query: queryOf(index) });
    // New ids, so that each later replay has the same number of messages after it.
    const request_id = t.requestId();
    const from = sims[0]?.number ?? account.from;
    const text = `conformance ${request_id}`;
    // One long text: the limit counts requests, whatever a message costs.
    const isLong = bucket === 'send' && index === 1;
    const message = isLong ? text.padEnd(messageMaxCharacters, '.') : text;
    // One held message: the limit counts requests, whenever their messages go out.
    const held = bucket === 'send' && index === 2 && { send_at: isoTime(t.now() + hourMs) };
    const other = index % 3 === 1;
    const invalid = isInvalid(bucket, index) && { to: 'x' };
    // The document shows the alias for one endpoint.
    const alias = other && bucket === 'send' && { from: undefined, from_number: from };
    const varied = { ...alias, ...held, ...(other && toOther), ...invalid };
    const body = t.fields(account, { request_id, from, message, ...varied });
    const reply = t.post(pathFor(bucket, account), key, body, headers);
    sent.push({ body, reply });
    return reply;
  };
  return { call, sent, isUserRefused };
}

/** When the run's own requests of the last minute were sent that may have spent from the bucket. */
function spentBefore(t: Trial, bucket: Bucket, account: AccountUnderTest): number[] {
  const recent = recentRequests(t, bucket, account);
  return recent.filter(({ reply }) => !isRefused(reply)).map(({ sentAt }) => sentAt);
}
