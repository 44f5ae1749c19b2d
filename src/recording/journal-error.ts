/** A journal that cannot be used; the message is one line for the user. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

/** What was thrown, as the end of such a line. */
export function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? '';
}
