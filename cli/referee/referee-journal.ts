/**
 * Reads the exchanges of a journal file for the referee. It replays the run on a simulator, which
 * then has the same record of exchanges as the simulator that wrote the journal.
 */
import { exchangesOf } from '#src/recording/judged-exchanges.ts';
import { isUndelivered } from '#src/sim/devices/outcomes.ts';
import { replayJournal } from '../replay/replay-journal.ts';

/** The exchanges that are judged: they take about a gigabyte. */
const bound = { exchanges: 500_000, characters: 512 * 1024 * 1024 };

/** Throws a JournalError if the file cannot be played. */
export function exchangesOfJournalFile(path: string) {
  const { isTruncated, differing, exchangeRecord, world } = replayJournal(path, bound);
  const truncated =
    'the last line is incomplete and was ignored: the rest is judged as a partial record';
  const differ =
    `${differing} of the recorded replies differ when played again, and the new ones are judged: ` +
    'the file was edited, or another version wrote it';
  return {
    exchanges: exchangesOf(exchangeRecord, world.keyRing.texts),
    isCutAtStart: exchangeRecord.isCutAtStart,
    /** Why the exchanges are not all of the run; undefined if they are. */
    lack: exchangeRecord.lack ?? (isTruncated ? truncated : undefined),
    endsUndelivered: (messageId: string) => isUndelivered(world.messages.get(messageId)),
    /** True if the service has an account of this name or id, even one without requests. */
    hasAccount: (wanted: string) =>
      [...world.accounts.values()].some(
        ({ accountId, name }) => accountId === wanted || name === wanted,
      ),
    /** Lines to print about the file. */
    notices: differing > 0 ? [`${path}: ${differ}`] : [],
  };
}
