/**
 * The exchanges of a journal file. Its run is played again on a simulator, which keeps the same
 * record of them as the one that wrote the journal.
 */
import type { Exchange } from '../referee/exchange.ts';
import { replayJournal } from './replay-journal.ts';

/** About a gigabyte. */
const bound = { exchanges: 500_000, characters: 512 * 1024 * 1024 };

export interface RecordedTraffic {
  readonly exchanges: readonly Exchange[];
  /** Why they are not all of the run; undefined where they are. */
  readonly lack: string | undefined;
  /** What the reader should know of the file. */
  readonly notices: readonly string[];
}

/** Throws a JournalError if the file cannot be played. */
export function exchangesOfJournalFile(path: string): RecordedTraffic {
  const { isTruncated, differing, exchangeRecord } = replayJournal(path, bound);
  return {
    exchanges: exchangeRecord.exchanges(),
    lack: exchangeRecord.lack,
    notices: [
      ...(isTruncated ? [`${path}: the last line is incomplete and was ignored`] : []),
      ...(differing > 0
        ? [`${path}: ${differing} replies differ when played again; the new ones are judged`]
        : []),
    ],
  };
}
