/**
 * Reads the exchanges of a journal file: replays its run on a simulator, which keeps the same record
 * as the simulator that wrote the journal.
 */
import { exchangesOf } from '../referee/recorded-feed.ts';
import { isUndelivered } from '../sim/outcomes.ts';
import { replayJournal } from './replay-journal.ts';

/** About a gigabyte. */
const bound = { exchanges: 500_000, characters: 512 * 1024 * 1024 };

/** Throws a JournalError if the file cannot be played. */
export function exchangesOfJournalFile(path: string) {
  const { isTruncated, differing, exchangeRecord, world } = replayJournal(path, bound);
  const cut = 'the last line is incomplete and was ignored: the rest is judged as a partial record';
  const differ =
    `${differing} of the recorded replies differ when played again, and the new ones are judged: ` +
    'the file was edited, or another version wrote it';
  return {
    exchanges: exchangesOf(exchangeRecord, world.keyRing.texts),
    isCutAtStart: exchangeRecord.isCutAtStart,
    /** Why they are not all of the run; undefined where they are. */
    lack: exchangeRecord.lack ?? (isTruncated ? cut : undefined),
    endsUndelivered: (messageId: string) => isUndelivered(world.messages.get(messageId)),
    /** Whether the service has an account of this name or id, with requests or without. */
    hasAccount: (wanted: string) =>
      [...world.accounts.values()].some(
        ({ accountId, name }) => accountId === wanted || name === wanted,
      ),
    /** What the reader should know of the file. */
    notices: differing > 0 ? [`${path}: ${differ}`] : [],
  };
}
