/**
 * The base of every error that a command reports in plain lines: it carries the exit code, and one line per
 * mistake. Whatever else is thrown is a bug, and ends with a stack trace and exit code 1.
 */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, ...lines: readonly string[]) {
    super(lines.join('\n'));
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** A usage or configuration mistake: exit code 2. */
export class UsageError extends CommandError {
  override readonly name: string = 'UsageError';

  constructor(...lines: readonly string[]) {
    super(2, ...lines);
  }
}

/** The first line of another library's message: the rest is often an excerpt, which may hold a key. */
export function firstLine(message: string): string {
  return (message.split('\n', 1)[0] ?? '').replace(/:$/, '');
}
