/**
 * The command line of `npm run test:deep`.
 */
import { parseArgs } from 'node:util';
import type { TransportKind } from '../../src/http/transport/open-transport.ts';

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

const usage =
  'npm run test:deep -- <sequences> <seed> [--path <path>] [--fuzz <requests>] [--transport ' +
  'hyperexpress|node] [--chunk <n>]';

const defaultSequences = 10_000;
const fuzzPerSequence = 5;
const kinds: readonly TransportKind[] = ['hyperexpress', 'node'];

/** Throws an Error with a one-line message for the user. */
export function readDeepOptions(args: readonly string[]): DeepOptions {
  const { values, positionals } = parsed(args);
  const [first = String(defaultSequences), second = '1', ...more] = positionals;
  if (more.length > 0) throw mistake(`unexpected argument ${more[0]}`);
  const sequences = wholeNumber('sequences', first);
  const { transport } = values;
  const chosen = kinds.filter((kind) => transport === undefined || transport === kind);
  if (chosen.length === 0)
    throw mistake(`--transport: expected ${kinds.join(' or ')}; got ${transport}`);
  const fuzz =
    values.fuzz === undefined
      ? values.path !== undefined
        ? 0
        : fuzzPerSequence * sequences
      : wholeNumber('--fuzz', values.fuzz);
  if (sequences === 0 && fuzz === 0) throw mistake('0 sequences and no --fuzz: nothing to do');
  return {
    sequences,
    seed: wholeNumber('seed', second),
    path: values.path,
    fuzz,
    transports: chosen,
    chunk: values.chunk === undefined ? undefined : wholeNumber('--chunk', values.chunk),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        path: { type: 'string' },
        fuzz: { type: 'string' },
        transport: { type: 'string' },
        chunk: { type: 'string' },
      },
    });
  } catch (error) {
    throw mistake(error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error));
  }
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw mistake(`${name}: expected a whole number; got ${text}`);
  }
  return value;
}

function mistake(what: string): Error {
  return new Error(`${what}; usage: ${usage}`);
}
