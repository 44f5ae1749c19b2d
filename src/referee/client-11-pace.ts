/** CLIENT-11 to CLIENT-14: how often a client polls and retries, and how retries are spread in time. */
import { consecutive, type Exchange, grouped, wasKnownTo } from './exchange.ts';
import { clearAttempts } from './intents.ts';
import {
  type ClientRecord,
  finding,
  type Judgement,
  type Judges,
  judgement,
  spanText,
} from './record.ts';

export const pace: Judges = {
  'CLIENT-11': (record) => pollsSlowly(record, 'read', 'the same message'),
  'CLIENT-12': stopsPolling,
  'CLIENT-13': (record) => pollsSlowly(record, 'received', 'received messages'),
  'CLIENT-14': spreadsAttempts,
};

const pollMs = 15_000;
/** A read that comes this long after the one before it looks something up again, and is not a poll. */
const lookUpMs = 3_600_000;

/** One request after another for the same; what was refused or not seen was no poll. */
function pollsOf({ exchanges }: ClientRecord, endpoint: string) {
  return [
    ...consecutive(exchanges, (one) =>
      one.endpoint === endpoint && one.method === 'GET' ? polled(one) : undefined,
    ),
  ].filter(([earlier, later]) => earlier.status === 200 && wasKnownTo(later, earlier));
}

/** A message by its path, or a page of received ones; other parameters may differ each time. */
function polled({ caller, endpoint, target }: Exchange): string {
  if (!target.includes('?')) return `${caller}\n${target}\n1`;
  const [path = '', query] = target.split('?');
  const page = endpoint === 'received' ? new URLSearchParams(query).get('page') : null;
  return `${caller}\n${path}\n${page ?? '1'}`;
}

function pollsSlowly(record: ClientRecord, endpoint: string, what: string): Judgement {
  return judgement(
    pollsOf(record, endpoint),
    ([earlier, later]) => later.atMs - earlier.atMs < pollMs,
    ([earlier, later]) => {
      const after = spanText(later.atMs - earlier.atMs);
      return finding(`${what} polled again after ${after}: poll no faster than every 15 s`, [
        earlier,
        later,
      ]);
    },
  );
}

function stopsPolling(record: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen, reply }: Exchange) =>
    status === 200 && isSeen && ['delivered', 'failed'].includes(String(reply?.['status']));
  const polls = pollsOf(record, 'read');
  return {
    exercised: record.exchanges.filter((one) => one.endpoint === 'read' && isFinal(one)).length,
    findings: polls
      .filter(([earlier, later]) => isFinal(earlier) && later.atMs - earlier.atMs < lookUpMs)
      .map(([earlier, later]) =>
        finding(
          `the message was polled again after it was seen ${String(earlier.reply?.['status'])}, which never changes: stop there`,
          [earlier, later],
        ),
      ),
  };
}

const mostAttempts = 5;
const attemptsWithinMs = 60_000;
const fewestIntents = 10;
const burstMs = 100;

function spreadsAttempts({ intents, isPartial }: ClientRecord): Judgement {
  const retried = intents.all.map(clearAttempts).filter(({ length }) => length > 1);
  const byCaller = grouped(retried, ([first]) => first?.caller ?? '');
  return {
    exercised: retried.length,
    findings: [
      ...retried.flatMap(tooManyAttempts),
      // What comes later could spread them.
      ...(isPartial ? [] : [...byCaller.values()].flatMap(bursts)),
    ],
  };
}

function tooManyAttempts(attempts: readonly Exchange[]) {
  const at = attempts.findIndex((one, n) => {
    const sixth = attempts[n + mostAttempts];
    return sixth !== undefined && sixth.atMs - one.atMs < attemptsWithinMs;
  });
  if (at < 0) return [];
  const within = attempts.filter(
    ({ atMs }) =>
      atMs >= (attempts[at]?.atMs ?? 0) && atMs - (attempts[at]?.atMs ?? 0) < attemptsWithinMs,
  );
  const what = `${within.length} attempts at one message within a minute: make at most five, with growing pauses`;
  return [finding(what, within)];
}

function bursts(retried: readonly (readonly Exchange[])[]) {
  if (retried.length < fewestIntents) return [];
  const retries = retried.flatMap((attempts) => attempts.slice(1)).sort((a, b) => a.atMs - b.atMs);
  const densest = densestWindow(retries);
  if (densest.length * 2 <= retries.length) return [];
  const what = `${densest.length} of ${retries.length} retries of ${retried.length} messages arrived within 100 ms: add random jitter to each wait`;
  return [finding(what, densest.slice(0, 20))];
}

function densestWindow(retries: readonly Exchange[]): readonly Exchange[] {
  let [from, best, bestFrom] = [0, 0, 0];
  for (const [to, { atMs }] of retries.entries()) {
    while (atMs - (retries[from]?.atMs ?? 0) > burstMs) from++;
    if (to - from + 1 > best) [best, bestFrom] = [to - from + 1, from];
  }
  return retries.slice(bestFrom, bestFrom + best);
}
