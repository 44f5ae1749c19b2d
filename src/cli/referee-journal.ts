/**
 * The exchanges of a journal file: its run is played again, so that each request has its account.
 */
import type { Exchange } from '../referee/exchange.ts';
import { watchExchanges } from '../referee/journal-feed.ts';
import { replayJournal } from './replay-journal.ts';

/** Throws a JournalError if the file cannot be played. */
export function exchangesOfJournalFile(path: string): {
  readonly exchanges: readonly Exchange[];
  /** What the reader should know of the file. */
  readonly notices: readonly string[];
} {
  const exchanges: Exchange[] = [];
  const { isTruncated, differing } = replayJournal(path, (entries, simulator, header) =>
    watchExchanges(entries, simulator, header, exchanges),
  );
  return {
    exchanges,
    notices: [
      ...(isTruncated ? [`${path}: the last line is incomplete and was ignored`] : []),
      ...(differing > 0
        ? [`${path}: ${differing} replies differ when played again; the recorded ones are judged`]
        : []),
    ],
  };
}
