/**
 * The base class of errors that a command reports in plain lines, one per mistake; it carries the
 * exit code. Any other exception is a bug and ends the process with a stack trace and exit code 1.
 */
import { foreignText } from './foreign-text.ts';

export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  /** Safe to print: a problem may quote what others wrote. */
  readonly lines: readonly string[];

  constructor(exitCode: number, ...lines: readonly string[]) {
    super(lines.join('\n'));
    this.exitCode = exitCode;
    this.lines = lines.map(foreignText);
  }
}

/** Wrong usage or configuration: exit code 2. */
export class UsageError extends CommandError {
  override readonly name: string = 'UsageError';

  constructor(...lines: readonly string[]) {
    super(2, ...lines);
  }
}

/** Only the first line of a library's message: later lines often quote the input, keys included. */
export function firstLine(message: string): string {
  return (message.split('\n', 1)[0] ?? '').replace(/:$/, '');
}

/** The lines of a CommandError, as a command prints them. */
export function printedError(command: string, { lines }: CommandError): string {
  return lines.map((line) => `smstwin ${command}: ${line}\n`).join('');
}
