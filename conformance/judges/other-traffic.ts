/**
 * Whether another client uses the account meanwhile, so that a limit seems smaller. Rules: LIMIT-1 to
 * LIMIT-7, AUTH-6, ERR-1. Statistics show it if one of their figures counts messages, whatever its
 * name: a figure that grows at least as fast as the run's own messages. Where none does, a limit is
 * too small only if two floods of the bucket agree.
 */

import { isDeepStrictEqual } from 'node:util';
import { minuteMs } from '../../src/ledger/time-units.ts';
import { isObject, textOf } from '../verify.ts';
import { type Exchange, isAccepted, isSend, isUncertain } from './exchange.ts';
import type { Trace } from './judge.ts';
import type { Bucket } from './limiter.ts';

/**
 * How many messages others have sent at least; 0 only if a figure stood still for as long as it takes
 * to show others; undefined if that is not known.
 */
export function messagesOfOthers(log: readonly Exchange[], account = 'own'): number | undefined {
  const isOfAccount = ({ caller }: Exchange) => caller.account === account;
  const sends = log.filter((one) => isOfAccount(one) && isSend(one));
  const certain = sends.filter(({ reply }) => reply.status === 202);
  // A send that was repeated may have been accepted before its last reply, even before a 429.
  const possible = sends.filter((one) => isAccepted(one) || isUncertain(one));
  const replies = inTurn(
    log.filter(
      (one) => isOfAccount(one) && one.endpoint === 'stats' && figuresIn(one.reply.json).size > 0,
    ),
  );
  const readings = replies
    .filter(
      ({ reply }, i, all) => i === 0 || !isDeepStrictEqual(reply.json, all[i - 1]?.reply.json),
    )
    .map((one) => ({
      one,
      values: figuresIn(one.reply.json),
      least: certain.filter(({ answeredAt }) => answeredAt <= one.sentAt).length,
      most: possible.filter(({ sentAt }) => sentAt <= one.answeredAt).length,
    }));
  const [first] = readings;
  const last = readings.at(-1);
  if (first === undefined || last === undefined || last.least - first.most < fewestMessages)
    return undefined;
  // A figure may count the parts of long messages, and what was accepted a moment before.
  const own = possible
    .filter(
      ({ sentAt, answeredAt }) =>
        answeredAt > first.one.sentAt - lateMs && sentAt <= last.one.answeredAt,
    )
    .reduce((sum, { fields }) => sum + mostParts(textOf(fields?.['message'])), 0);
  const excesses = [...first.values.keys()].flatMap((name) => {
    const valueIn = (reading: typeof first) => reading.values.get(name) ?? Number.NaN;
    const start = valueIn(first);
    const countsMessages = readings.every((now, i) => {
      const grown = valueIn(now) - valueIn(readings[i - 1] ?? now);
      return grown >= 0 && valueIn(now) - start >= now.least - first.most - mostLate;
    });
    return countsMessages ? [Math.max(0, valueIn(last) - start - own)] : [];
  });
  if (excesses.length === 0) return undefined;
  const least = Math.min(...excesses);
  if (least >= fewestOfOthers) return least;
  return least === 0 && quietMs(replies, possible) >= leastQuietMs ? 0 : undefined;
}

/** The readings of which none overlaps another: of two at once, either may be the earlier one. */
function inTurn(readings: readonly Exchange[]): Exchange[] {
  const found: Exchange[] = [];
  for (const one of readings.toSorted((a, b) => a.sentAt - b.sentAt))
    if (one.sentAt >= (found.at(-1)?.answeredAt ?? Number.NEGATIVE_INFINITY)) found.push(one);
  return found;
}

/** How long the run read its statistics and sent nothing. */
function quietMs(readings: readonly Exchange[], sends: readonly Exchange[]): number {
  const events = [...readings, ...sends].toSorted((a, b) => a.sentAt - b.sentAt);
  let total = 0;
  for (const [i, one] of events.entries()) {
    const before = events[i - 1];
    if (before?.endpoint === 'stats' && one.endpoint === 'stats')
      total += Math.max(0, one.sentAt - before.answeredAt);
  }
  return total;
}

/** A client that makes a limit seem smaller by more than a few shows in this time. */
const leastQuietMs = 45_000;

/** A service may count what it has just accepted a moment later. */
const mostLate = 16;
const lateMs = 2_000;

/** The most parts that a network makes of a text; GSM-7 holds all letters of English. */
function mostParts(text: string): number {
  const isGsm = /^[\w .,:;!?+-]*$/.test(text);
  const [alone, joined] = isGsm ? [160, 153] : [70, 67];
  return text.length <= alone ? 1 : Math.ceil(text.length / joined);
}

const fewestOfOthers = 4;

/** Enough to show which figure counts messages. */
const fewestMessages = 5;

/** The numbers of a body by their place in it. */
function figuresIn(json: unknown, at = ''): Map<string, number> {
  if (typeof json === 'number') return new Map([[at, json]]);
  if (!isObject(json)) return new Map();
  return new Map(
    Object.entries(json).flatMap(([name, value]) => [...figuresIn(value, `${at}.${name}`)]),
  );
}

/** Why fewer requests than the limit may have passed; undefined if only the limit explains it. */
export function othersIn(trace: Trace, bucket: Bucket): string | undefined {
  if (trace.hasExactTimes || bucket.isOfAddress) return undefined;
  const counts = passedBeforeRefusals(bucket);
  const { limit } = bucket;
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const account = bucket.exchanges[0]?.caller.account;
  // The run hardly uses another account: its own flood explains a 429 there better.
  if (account !== 'own' && least < limit / 3) return undefined;
  const messages = messagesOfOthers(trace.log, account);
  if (messages !== undefined && messages > 0)
    return `an account that no other client uses: at least ${messages} messages are not of this run`;
  if (bucket.name === 'tasks' && isPolledByOthers(bucket))
    return `a device that no other client polls${or}: a token that this run did not spend came back`;
  if (messages === 0) return undefined;
  // A bucket that was once full and once nearly empty is not what another client makes of it. More
  // than the limit pass where tokens come back steadily: then a slow flood may lack some.
  if (least === limit || (most >= limit && least < limit / 3)) return undefined;
  if (counts.length > 1 && counts.every((count) => count === counts[0])) return undefined;
  return `an account that no other client uses${or}: before a 429, ${counts.join(', then ')} requests passed in a minute`;
}

/** What may look like another client. */
const or = ', or a limiter that counts each minute for itself';

/** How many passed within the minute before the first refusal of each flood. */
function passedBeforeRefusals({ exchanges }: Bucket): number[] {
  const counts: number[] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (const { reply, sentAt } of exchanges) {
    if (reply.status !== 429) continue;
    if (sentAt - before > minuteMs / 2)
      counts.push(
        exchanges.filter(
          (one) =>
            one.reply.status < 400 && one.sentAt <= sentAt && one.answeredAt > sentAt - minuteMs,
        ).length,
      );
    before = sentAt;
  }
  return counts;
}

/** More than a token that comes back steadily would need. */
const fewSeconds = 2;

/** True if the first 429 announces a token before any that the run has spent can come back. */
function isPolledByOthers({ exchanges, limit }: Bucket): boolean {
  const refusal = exchanges.find(({ reply }) => reply.status === 429);
  if (refusal === undefined) return false;
  const seconds = Number(refusal.reply.headers['retry-after']);
  const backAt = refusal.answeredAt + seconds * 1000;
  const own = exchanges.filter(
    ({ reply, answeredAt }) => reply.status < 400 && answeredAt > refusal.sentAt - minuteMs,
  );
  return (
    own.length < limit &&
    seconds > fewSeconds &&
    own.every(({ sentAt }) => sentAt + minuteMs - fewSeconds * 1000 > backAt)
  );
}
