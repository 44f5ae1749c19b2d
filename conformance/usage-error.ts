/**
 * How a call ends that is not carried out: as a mistake of whoever typed it, or as answered.
 */

/** Exit 2, and these lines; one for each mistake. */
export class UsageError extends Error {
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

/** The command line was answered by help or version: exit 0. */
export class Answered extends Error {}
