/**
 * `node --import tsx digest.ts SEED RUNS` prints a digest of the behaviour of random runs, by which
 * two processes can be compared.
 */
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { historiesOf, play, repliesOf, setupArbitrary, stepsArbitrary } from './random-runs.ts';

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
