/**
 * Finds signs that another client uses the run's account, which makes its limits seem smaller.
 * Rules: LIMIT-1 to LIMIT-7, AUTH-6, ERR-1. The best sign is a figure of the account's statistics
 * that counts messages: whatever its name, it grows at least as fast as the run sends. Without such
 * a figure, a limit is too small for certain only if two floods of its bucket agree.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '#contract/request-and-reply.ts';
import { minuteMs, secondMs } from '#contract/time.ts';
import { type Exchange, isAccepted, isRefused, isSend, isUncertain } from '../evidence/exchange.ts';
import { textOf } from '../service/expectations.ts';
import type { Trace } from '../service/judge.ts';
import type { Bucket } from './bucket.ts';

/** A smaller excess of messages does not show another client for certain. */
const fewestOfOthers = 4;
/** The fewest own messages between two readings that show which figure counts messages. */
const fewestMessages = 5;
/** A service may count messages late: by at most this time, and at most this many. */
const mostLateMs = 2_000;
const mostLateMessages = 16;
/** Another client that uses up more than a few tokens of a limit sends within this time. */
const leastQuietMs = 45_000;

/** The figures of one reply with statistics, by name. */
interface Reading {
  readonly exchange: Exchange;
  readonly figures: ReadonlyMap<string, number>;
  /** The fewest and the most messages of this run that the figures may include. */
  readonly least: number;
  readonly most: number;
}

/**
 * The least number of messages that others have sent. Undefined if the statistics do not show it; 0
 * only if a figure stood still for long enough.
 */
export function messagesOfOthers(log: readonly Exchange[], account = 'own'): number | undefined {
  const ofAccount = log.filter(({ caller }) => caller.account === account);
  const sends = ofAccount.filter(isSend);
  // A send that was repeated may have been accepted before its last reply, even before a 429.
  const possible = sends.filter((send) => isAccepted(send) || isUncertain(send));
  const replies = withoutOverlaps(
    ofAccount.filter(
      ({ endpoint, reply }) => endpoint === 'stats' && figuresIn(reply.json).size > 0,
    ),
  );
  const readings = readingsOf(replies, sends, possible);
  const [first] = readings;
  const last = readings.at(-1);
  if (first === undefined || last === undefined || last.least - first.most < fewestMessages)
    return undefined;
  const ownParts = partsBetween(first, last, possible);
  const excesses = [...first.figures.keys()]
    .filter((name) => countsMessages(name, readings))
    .map((name) => Math.max(0, figureOf(last, name) - figureOf(first, name) - ownParts));
  if (excesses.length === 0) return undefined;
  const least = Math.min(...excesses);
  if (least >= fewestOfOthers) return least;
  return least === 0 && quietMs(replies, possible) >= leastQuietMs ? 0 : undefined;
}

/** Replies in time order, without those that overlap the one before: either may be the earlier. */
function withoutOverlaps(replies: readonly Exchange[]): Exchange[] {
  const apart: Exchange[] = [];
  for (const reply of replies.toSorted((a, b) => a.sentAt - b.sentAt))
    if (reply.sentAt >= (apart.at(-1)?.answeredAt ?? Number.NEGATIVE_INFINITY)) apart.push(reply);
  return apart;
}

/** The numbers of a body by their path in it. */
function figuresIn(json: unknown, path = ''): Map<string, number> {
  if (typeof json === 'number') return new Map([[path, json]]);
  if (!isObject(json)) return new Map();
  return new Map(
    Object.entries(json).flatMap(([name, value]) => [...figuresIn(value, `${path}.${name}`)]),
  );
}

/** The replies that differ from the one before. */
function readingsOf(
  replies: readonly Exchange[],
  sends: readonly Exchange[],
  possible: readonly Exchange[],
): Reading[] {
  const certain = sends.filter(({ reply }) => reply.status === 202);
  return replies
    .filter(({ reply }, i) => i === 0 || !isDeepStrictEqual(reply.json, replies[i - 1]?.reply.json))
    .map((exchange) => ({
      exchange,
      figures: figuresIn(exchange.reply.json),
      least: certain.filter(({ answeredAt }) => answeredAt <= exchange.sentAt).length,
      most: possible.filter(({ sentAt }) => sentAt <= exchange.answeredAt).length,
    }));
}

function figureOf({ figures }: Reading, name: string): number {
  return figures.get(name) ?? Number.NaN;
}

/** True if the figure never falls, and always includes the messages of this run. */
function countsMessages(name: string, readings: readonly Reading[]): boolean {
  return readings.every((reading, i) => {
    const [first = reading] = readings;
    const growth = figureOf(reading, name) - figureOf(readings[i - 1] ?? reading, name);
    const total = figureOf(reading, name) - figureOf(first, name);
    return growth >= 0 && total >= reading.least - first.most - mostLateMessages;
  });
}

/** The most that the run's messages between two readings add to a figure that counts parts. */
function partsBetween(first: Reading, last: Reading, possible: readonly Exchange[]): number {
  const { sentAt: from } = first.exchange;
  const { answeredAt: until } = last.exchange;
  return possible
    .filter(({ sentAt, answeredAt }) => answeredAt > from - mostLateMs && sentAt <= until)
    .reduce((sum, { fields }) => sum + mostParts(textOf(fields?.['message'])), 0);
}

/** The most parts that a network makes of a text; GSM-7 holds all letters of English. */
function mostParts(text: string): number {
  const isGsm = /^[\w .,:;!?+-]*$/.test(text);
  const [single, joined] = isGsm ? [160, 153] : [70, 67];
  return text.length <= single ? 1 : Math.ceil(text.length / joined);
}

/** How long the run read its statistics and sent nothing. */
function quietMs(readings: readonly Exchange[], sends: readonly Exchange[]): number {
  const events = [...readings, ...sends].toSorted((a, b) => a.sentAt - b.sentAt);
  let total = 0;
  for (const [i, event] of events.entries()) {
    const before = events[i - 1];
    if (before?.endpoint === 'stats' && event.endpoint === 'stats')
      total += Math.max(0, event.sentAt - before.answeredAt);
  }
  return total;
}

/** Other clients that may use the account. */
interface OtherClients {
  /** What a run would need instead. */
  readonly need: string;
  /** True if the account's statistics prove them. */
  readonly areSeen: boolean;
}

/** A bucket is nearly empty if fewer requests than this share of the limit pass. */
const fewShare = 1 / 3;

/** Why fewer requests than the limit may have passed; undefined if only a smaller limit does it. */
export function othersIn(trace: Trace, bucket: Bucket): OtherClients | undefined {
  if (trace.hasExactTimes || bucket.isOfAddress) return undefined;
  const counts = passedBeforeRefusals(bucket);
  const { limit } = bucket;
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const account = bucket.exchanges[0]?.caller.account;
  // The run hardly uses another account: its own flood explains a 429 there better.
  if (account !== 'own' && least < limit * fewShare) return undefined;
  const messages = messagesOfOthers(trace.log, account);
  if (messages !== undefined && messages > 0) {
    return {
      need: `an account that no other client uses: at least ${messages} messages are not of this run`,
      areSeen: true,
    };
  }
  if (bucket.endpoint === 'tasks' && isPolledByOthers(bucket)) {
    return unseen(
      'a device that no other client polls: a token that this run did not spend came back',
    );
  }
  if (messages === 0) return undefined;
  const isRepeated = (counts.length > 1 && least === most) || isTwiceTooSmall(counts, limit);
  // No other client leaves a bucket once full and once nearly empty. More than the limit may pass
  // where tokens come back continuously; a slow flood may then meet fewer tokens.
  const isFullOnce = least === limit || (most >= limit && least < limit * fewShare);
  // While the machine stood still, so did another client on it, and the bucket filled up.
  const isSteady = !trace.log.some(({ reply }) => reply.isLate);
  if (isRepeated || (isFullOnce && isSteady)) return undefined;
  return unseen(
    `an account that no other client uses: before a 429, ${counts.join(', then ')} requests passed in a minute`,
  );
}

/** Counts of passed requests that differ by less than this part of the limit are alike. */
const alike = 1 / 20;

/** True if two alike counts are too small, although the bucket was full before each of them. */
function isTwiceTooSmall(counts: readonly number[], limit: number): boolean {
  const smallAfterFull = counts.filter(
    (count, i) => count < limit && (counts[i - 1] ?? 0) >= limit,
  );
  return smallAfterFull.some((count, i) =>
    smallAfterFull.slice(0, i).some((other) => Math.abs(count - other) <= limit * alike),
  );
}

function unseen(need: string): OtherClients {
  return { need, areSeen: false };
}

/** For each flood, the requests that passed in the minute before its first 429. */
function passedBeforeRefusals({ exchanges }: Bucket): number[] {
  const counts: number[] = [];
  let lastRefusalAt = Number.NEGATIVE_INFINITY;
  for (const { sentAt } of exchanges.filter(isRefused)) {
    const isNewFlood = sentAt - lastRefusalAt > minuteMs / 2;
    const passed = exchanges.filter(
      (exchange) =>
        exchange.reply.status < 400 &&
        exchange.sentAt <= sentAt &&
        exchange.answeredAt > sentAt - minuteMs,
    );
    if (isNewFlood) counts.push(passed.length);
    lastRefusalAt = sentAt;
  }
  return counts;
}

/** Longer than a continuous refill needs for a token. */
const fewSeconds = 2;

/** True if the first 429 announces a token before any that the run has spent can come back. */
function isPolledByOthers({ exchanges, limit }: Bucket): boolean {
  const refusal = exchanges.find(isRefused);
  if (refusal === undefined) return false;
  const seconds = Number(refusal.reply.headers['retry-after']);
  const backAt = refusal.answeredAt + seconds * secondMs;
  const spent = exchanges.filter(
    ({ reply, answeredAt }) => reply.status < 400 && answeredAt > refusal.sentAt - minuteMs,
  );
  return (
    spent.length < limit &&
    seconds > fewSeconds &&
    spent.every(({ sentAt }) => sentAt + minuteMs - fewSeconds * secondMs > backAt)
  );
}
