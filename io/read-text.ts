/** Reads a file that a flag names, whole and up to a bound. */
import { firstLine, UsageError } from './command-error.ts';
import { readText as readWhole, reasonOf } from './plain-file.ts';

/** The largest file that is read whole, unless a caller says otherwise. */
export const mostFileBytes = 32 * 1_048_576;

/** Throws a UsageError that names the flag and the file. */
export function readText(path: string, flag: string, mostBytes = mostFileBytes): string {
  try {
    return readWhole(path, mostBytes);
  } catch (error) {
    throw new UsageError(`${flag} ${path}: ${reasonOf(error)}`);
  }
}

/** Throws a UsageError that names the file and quotes no part of the text. */
export function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: ${firstLine(withoutText(String((error as Error).message)))}`);
  }
}

/** Removes the excerpt that Node quotes from unparsable text: it may hold a key. */
function withoutText(message: string): string {
  return message.replace(/, (?:\.{3})?".*is not valid JSON$/s, ' is not valid JSON');
}
