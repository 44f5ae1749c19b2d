/** A journal that cannot be used; the message is one line for the user. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}
