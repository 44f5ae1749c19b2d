/**
 * The visible behaviour of a run: every reply, and every message's history. As a program with a
 * seed and a number of runs it prints their digest, so that two processes can be compared.
 */
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import type { Session } from '../testkit/twin/session.ts';
import { play, setupArbitrary, stepsArbitrary } from './random-runs.ts';

/** The replies, one line each. */
export function repliesOf({ trace }: Session): string[] {
  return trace.map(({ reply }) => JSON.stringify([reply.status, reply.headers, reply.body]));
}

/** The statuses of every message with their times, one line each. */
export function historiesOf(session: Session): string[] {
  return session.model.messages.map(({ messageId }) =>
    JSON.stringify(session.historyOf(messageId)),
  );
}

export function digestOf(seed: number, runs: number): string {
  const hash = createHash('sha256');
  const sampled = fc.sample(fc.tuple(setupArbitrary, stepsArbitrary), { seed, numRuns: runs });
  for (const [setup, steps] of sampled) {
    const session = play(setup, steps);
    hash.update([...repliesOf(session), ...historiesOf(session)].join('\n'));
  }
  return hash.digest('hex');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [seed, runs] = process.argv.slice(2).map(Number);
  process.stdout.write(digestOf(seed ?? 1, runs ?? 10));
}
