/**
 * The flags of the long-running programs, each declared with its type, bounds and default. A wrong
 * flag ends the program with exit code 2 and one line that names it.
 */
import { parseArgs } from 'node:util';

export class FlagError extends Error {
  override readonly name = 'FlagError';
}

/** Parses one value; the text is undefined if the flag is absent. */
type Reader<T> = (name: string, text: string | undefined) => T;

export function number(least: number, most: number, fallback: number): Reader<number> {
  return (name, text = String(fallback)) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (value >= least && value <= most) return value;
    throw new FlagError(`${name} ${text}: expected a number from ${least} to ${most}`);
  };
}

export function whole(least: number, most: number, fallback: number): Reader<number> {
  const inRange = number(least, most, fallback);
  return (name, text) => {
    const value = inRange(name, text);
    if (Number.isInteger(value)) return value;
    throw new FlagError(`${name} ${text}: expected a whole number`);
  };
}

/** One of these words; the first one if none is given. */
export function word<const W extends string>(...words: readonly [W, ...W[]]): Reader<W> {
  return (name, text = words[0]) => {
    const found = words.find((one) => one === text);
    if (found !== undefined) return found;
    throw new FlagError(`${name} ${text}: expected one of ${words.join(', ')}`);
  };
}

/** Undefined if the flag is absent. */
export function optional<T>(reader: Reader<T>): Reader<T | undefined> {
  return (name, text) => (text === undefined ? undefined : reader(name, text));
}

export function textOr(fallback: string): Reader<string> {
  return (_, text = fallback) => text;
}

type Readers = Readonly<Record<string, Reader<unknown>>>;
type Read<R extends Readers> = { readonly [K in keyof R]: ReturnType<R[K]> };

/** Reads positional arguments in order and flags by name. */
export function readFlags<F extends Readers, P extends Readers = Record<never, never>>(
  argv: readonly string[],
  flags: F,
  positional: P = {} as P,
): Read<F> & Read<P> {
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: 'string' } as const]),
  );
  const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
  const names = Object.keys(positional);
  const extra = positionals[names.length];
  if (extra !== undefined) throw new FlagError(`unexpected argument ${extra}`);
  const read = (readers: Readers, textOf: (name: string) => string | undefined, mark: string) =>
    Object.entries(readers).map(([name, one]) => [name, one(mark + name, textOf(name))]);
  return Object.fromEntries([
    ...read(flags, (name) => values[name], '--'),
    ...read(positional, (name) => positionals[names.indexOf(name)], ''),
  ]);
}

type Program = (argv: string[]) => Promise<number>;

/** Runs a program with the flags of the command line; it returns the exit code. */
export async function runProgram(name: string, run: Program): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  process.exitCode = await exitCodeOf(name, run, process.argv.slice(2), say);
}

export async function exitCodeOf(
  name: string,
  run: Program,
  argv: string[],
  say: (line: string) => void,
): Promise<number> {
  try {
    return await run(argv);
  } catch (error) {
    if (!isFlagError(error)) throw error;
    say(`${name}: ${error.message.split('\n')[0]}`);
    return 2;
  }
}

function isFlagError(error: unknown): error is Error {
  if (error instanceof FlagError) return true;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('ERR_PARSE_ARGS');
}
