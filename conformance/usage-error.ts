/**
 * Errors that end the command without a run: an exit code, and one line for each problem.
 * They have the shape of the product's own error, which the harness may not import.
 */
export class CommandError extends Error {
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
  constructor(...lines: readonly string[]) {
    super(2, ...lines);
  }
}

/** `--help` or `--version` has printed its text. */
export class Answered extends CommandError {
  constructor() {
    super(0);
  }
}
