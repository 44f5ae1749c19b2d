import { CommandError } from '#io/command-error.ts';

/** A journal that cannot be used. The message is one line for the user. */
export class JournalError extends CommandError {
  override readonly name = 'JournalError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(2, message);
    this.cause = options.cause;
  }
}
