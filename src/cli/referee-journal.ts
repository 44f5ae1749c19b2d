/**
 * Reads the exchanges of a journal file: replays its run on a simulator, which keeps the same record
 * as the simulator that wrote the journal.
 */
import type { Exchange } from '../referee/exchange.ts';
import { exchangesOf } from '../referee/recorded-feed.ts';
import { isUndelivered } from '../sim/outcomes.ts';
import { replayJournal } from './replay-journal.ts';

/** About a gigabyte. */
const bound = { exchanges: 500_000, characters: 512 * 1024 * 1024 };

export interface RecordedTraffic {
  readonly exchanges: readonly Exchange[];
  /** Why they are not all of the run; undefined where they are. */
  readonly lack: string | undefined;
  /** True if exchanges may be missing before the first one. */
  readonly isCutAtStart: boolean;
  readonly endsUndelivered: ((messageId: string) => boolean) | undefined;
  /** Whether the service has an account of this name or id, with requests or without. */
  readonly hasAccount: (nameOrId: string) => boolean;
  /** What the reader should know of the file. */
  readonly notices: readonly string[];
}

/** Throws a JournalError if the file cannot be played. */
export function exchangesOfJournalFile(path: string): RecordedTraffic {
  const { isTruncated, differing, exchangeRecord, world } = replayJournal(path, bound);
  const cut = 'the last line is incomplete and was ignored: the rest is judged as a partial record';
  const differ =
    `${differing} of the recorded replies differ when played again, and the new ones are judged: ` +
    'the file was edited, or another version wrote it';
  return {
    exchanges: exchangesOf(exchangeRecord, world.keyRing.texts),
    isCutAtStart: exchangeRecord.isCutAtStart,
    lack: exchangeRecord.lack ?? (isTruncated ? cut : undefined),
    endsUndelivered: (id) => isUndelivered(world.messages.get(id)),
    hasAccount: (wanted) =>
      [...world.accounts.values()].some(
        ({ accountId, name }) => accountId === wanted || name === wanted,
      ),
    notices: differing > 0 ? [`${path}: ${differ}`] : [],
  };
}
