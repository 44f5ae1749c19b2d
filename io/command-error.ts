/**
 * The base class of the errors of commands: a command prints their lines, one for each mistake, and
 * ends with their exit code. Any other exception is a bug: its stack is printed, the exit code is
 * 1.
 */
import { foreignText } from './foreign-text.ts';

export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  /** Made safe to print, as a line may quote text that others wrote. */
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

/** The lines of a CommandError, as a command prints them. `command`: '' for `smstwin` itself. */
export function printedError(command: string, { lines }: CommandError): string {
  return lines.map((line) => `${`smstwin ${command}`.trim()}: ${line}\n`).join('');
}
