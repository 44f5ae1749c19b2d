/** The command line of `npm run test:deep -- <sequences> <seed>`. */
import { UsageError } from '#io/command-error.ts';
import { wholeNumber } from '#io/flag-values.ts';
import type { FlagValues } from '#io/flags.ts';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { transportFlag } from '../testkit/processes/program-flags.ts';

const count = wholeNumber(0, 999_999_999);

export const deepProgram = {
  name: 'test:deep',
  flags: [
    { flag: '--path <path>', about: 'of a failure to replay' },
    { flag: '--fuzz <n>', about: 'hostile requests, over all transports', parse: count },
    transportFlag,
  ],
  counts: { sequences: count, seed: count },
} as const;

const fuzzPerSequence = 5;

export function deepOptions(
  { path, transport, ...flags }: FlagValues<typeof deepProgram.flags>,
  sequences = 10_000,
  seed = 1,
) {
  const fuzz = flags.fuzz ?? (path === undefined ? fuzzPerSequence * sequences : 0);
  if (sequences + fuzz === 0) throw new UsageError('0 sequences and no --fuzz: nothing to do');
  const transports: readonly TransportKind[] =
    transport === undefined ? ['hyperexpress', 'node'] : [transport];
  return { sequences, seed, path, fuzz, transports };
}
