/**
 * The command line of `npm run test:deep -- <sequences> <seed>`.
 */
import type { TransportKind } from '../../src/http/transport/open-transport.ts';
import { FlagError, optional, readFlags, textOr, whole, word } from '../testkit/program-flags.ts';

export interface DeepOptions {
  readonly sequences: number;
  readonly seed: number;
  /** The path of a failure to replay. */
  readonly path: string | undefined;
  /** The number of hostile requests, over all transports. */
  readonly fuzz: number;
  readonly transports: readonly TransportKind[];
  /** The chunk of a fuzz run to replay. */
  readonly chunk: number | undefined;
}

const fuzzPerSequence = 5;
const most = Number.MAX_SAFE_INTEGER;
const count = optional(whole(0, most, 0));

export function readDeepOptions(argv: readonly string[]): DeepOptions {
  const { sequences, seed, path, chunk, transport, ...flags } = readFlags(
    argv,
    {
      path: optional(textOr('')),
      fuzz: count,
      chunk: count,
      transport: optional(word('hyperexpress', 'node')),
    },
    { sequences: whole(0, most, 10_000), seed: whole(0, most, 1) },
  );
  const fuzz = flags.fuzz ?? (path === undefined ? fuzzPerSequence * sequences : 0);
  if (sequences + fuzz === 0) throw new FlagError('0 sequences and no --fuzz: nothing to do');
  const transports = transport === undefined ? (['hyperexpress', 'node'] as const) : [transport];
  return { sequences, seed, path, chunk, fuzz, transports };
}
