/** CLIENT-14: the number of attempts at one intent, and how retries are spread in time. */
import type { Exchange } from './exchange.ts';
import { clearAttempts } from './intents.ts';
import { type ClientRecord, finding, grouped, type Judgement, type Judges } from './record.ts';

export const pace: Judges = { 'CLIENT-14': spreadsAttempts };

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
