/**
 * What the long-running programs share: flags as text become values, and a wrong one ends with exit
 * code 2 and one line that names it.
 */

export class FlagError extends Error {
  override readonly name = 'FlagError';
}

export function numberFlag(flag: string, text: string, least: number, most: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= least && value <= most) return value;
  throw new FlagError(`--${flag} ${text}: expected a number from ${least} to ${most}`);
}

export function wholeFlag(flag: string, text: string, least: number, most: number): number {
  const value = numberFlag(flag, text, least, most);
  if (Number.isInteger(value)) return value;
  throw new FlagError(`--${flag} ${text}: expected a whole number`);
}

export function wordFlag<W extends string>(flag: string, text: string, words: readonly W[]): W {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new FlagError(`--${flag} ${text}: expected one of ${words.join(', ')}`);
}

type Program = (argv: string[]) => Promise<number>;

/** Runs a program on the flags of the command line; its answer is the exit code. */
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
