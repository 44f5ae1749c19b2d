/**
 * CLIENT-11 to CLIENT-14: how often a client polls and retries, and how retries are spread in time.
 */
import { hourMs, minuteMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { bodyOf, requestIdOf } from '../evidence/exchange.ts';
import { areWithin, type ClientExchange, consecutive, wasKnownTo } from './exchange.ts';
import {
  attributableAttempts,
  type ClientRecord,
  finding,
  type Judgement,
  type Judges,
  judgement,
  onceOf,
  spanText,
  type UnclearSends,
} from './record.ts';

export const pace = {
  'CLIENT-11': (record) => pollsSlowly(readPollsOf(record), 'the same message'),
  'CLIENT-12': stopsPolling,
  'CLIENT-13': (record) => pollsSlowly(pollsOf(record, 'received'), 'received messages'),
  'CLIENT-14': spreadsAttempts,
} satisfies Judges;

const readPollsOf = onceOf((record) => pollsOf(record, 'read'));

const pollMs = 15_000;
/** A read of a final message after this long is a look-up, not a poll. */
const lookUpMs = hourMs;

/**
 * Each poll with the poll of the same target before it. A request after a refusal, or after a reply
 * that the client did not see, does not count as a poll.
 */
function pollsOf({ exchanges }: ClientRecord, endpoint: string) {
  return [
    ...consecutive(exchanges, (one) =>
      one.endpoint === endpoint && one.method === 'GET' ? pollTarget(one) : undefined,
    ),
  ].filter(([earlier, later]) => earlier.reply.status === 200 && wasKnownTo(later, earlier));
}

/** What a request polls: a message, or a page of received ones. Ignores other query parameters. */
function pollTarget({ endpoint, target }: ClientExchange): string {
  const [path = '', query] = target.includes('?') ? target.split('?') : [target];
  const isPaged = endpoint === 'received' && query !== undefined;
  const page = isPaged ? new URLSearchParams(query).get('page') : null;
  return page === null || page === '1' ? path : `${path}?${page}`;
}

function pollsSlowly(polls: ReturnType<typeof pollsOf>, what: string): Judgement {
  return judgement(
    polls,
    ([earlier, later]) => areWithin(pollMs, earlier, later),
    ([earlier, later]) => {
      const after = spanText(later.sentAt - earlier.sentAt);
      return finding(`${what} polled again after ${after}: poll no faster than every 15 s`, [
        earlier,
        later,
      ]);
    },
  );
}

function stopsPolling(record: ClientRecord): Judgement {
  const isFinal = (read: ClientExchange) =>
    read.reply.status === 200 &&
    read.isSeen &&
    ['delivered', 'failed'].includes(String(bodyOf(read)['status']));
  return {
    exercised: record.exchanges.filter((one) => one.endpoint === 'read' && isFinal(one)).length,
    findings: readPollsOf(record)
      .filter(([earlier, later]) => isFinal(earlier) && areWithin(lookUpMs, earlier, later))
      .map(([earlier, later]) =>
        finding(
          `the message was polled again after it was seen ${String(bodyOf(earlier)['status'])}, which never changes: stop there`,
          [earlier, later],
        ),
      ),
  };
}

// The bounds of CLIENT-14.
const mostAttempts = 5;
const attemptsWithinMs = minuteMs;
const fewestIntents = 10;
const burstMs = 100;
/** A finding lists this many retries of a burst at most. */
const shownRetries = 20;

function spreadsAttempts({ intents, isPartial, unclear }: ClientRecord): Judgement {
  const retried = intents.all.map(attributableAttempts).filter(({ length }) => length > 1);
  const mayLackRetries = retried.flat().some((one) => unclear.concern(one));
  const byCaller = grouped(retried, ([first]) => first?.caller.name ?? '');
  return {
    exercised: retried.length,
    findings: [
      ...retried.flatMap((attempts) => tooManyAttempts(attempts, unclear)),
      // Retries that the record lacks could show that the client spreads them.
      ...(isPartial || mayLackRetries ? [] : [...byCaller.values()].flatMap(bursts)),
    ],
  };
}

function tooManyAttempts(attempts: readonly ClientExchange[], unclear: UnclearSends) {
  const first = attempts.find((attempt, index) => {
    const sixth = attempts[index + mostAttempts];
    if (sixth === undefined || !areWithin(attemptsWithinMs, attempt, sixth)) return false;
    // Without an id, an unclear send that was accepted may have ended the intent.
    return requestIdOf(attempt) === undefined
      ? !unclear.mayDecide(attempt, sixth)
      : !unclear.mayEnd(attempt, sixth);
  });
  if (first === undefined) return [];
  const within = attempts.filter(
    ({ sentAt }) => sentAt >= first.sentAt && sentAt - first.sentAt < attemptsWithinMs,
  );
  const what = `${within.length} attempts at one message within a minute: make at most five, with growing pauses`;
  return [finding(what, within)];
}

function bursts(retried: readonly (readonly ClientExchange[])[]) {
  // Times of whole seconds show no burst.
  const isTimed = retried.flat().every(({ precisionMs = 0 }) => precisionMs < burstMs);
  if (retried.length < fewestIntents || !isTimed) return [];
  for (const retries of roundsOf(retried)) {
    if (retries.length < fewestIntents) break;
    const densest = densestWindow(retries.sort((a, b) => a.sentAt - b.sentAt));
    if (densest.length * 2 <= retries.length) continue;
    const what = `${densest.length} of ${retries.length} retries of ${retried.length} messages arrived within 100 ms: add random jitter to each wait`;
    return [finding(what, densest.slice(0, shownRetries))];
  }
  return [];
}

/** All retries together, and then the first ones of all messages, the second ones and so on. */
function* roundsOf(retried: readonly (readonly ClientExchange[])[]): Generator<ClientExchange[]> {
  yield retried.flatMap((attempts) => attempts.slice(1));
  let left = retried;
  for (let nth = 1; left.length > 0; nth++) {
    yield left.flatMap((attempts) => attempts.slice(nth, nth + 1));
    left = left.filter(({ length }) => length > nth + 1);
  }
}

/** The most retries that arrived within `burstMs`. `retries`: in order of arrival. */
function densestWindow(retries: readonly ClientExchange[]): readonly ClientExchange[] {
  let [start, densestStart, densestLength] = [0, 0, 0];
  for (const [end, { sentAt }] of retries.entries()) {
    while (sentAt - (retries[start]?.sentAt ?? 0) > burstMs) start++;
    const length = end - start + 1;
    if (length > densestLength) [densestStart, densestLength] = [start, length];
  }
  return retries.slice(densestStart, densestStart + densestLength);
}
