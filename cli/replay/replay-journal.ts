/**
 * Replays a recorded run from its journal file alone, for `smstwin replay` and the referee. The
 * simulator then has the same record of exchanges as the one that wrote the journal.
 */
import { atOnce } from '#io/at-once.ts';
import { JournalError } from '#judging/evidence/journal-error.ts';
import { playingFrom } from '#src/recording/checkpoint/resume.ts';
import type { RecordBound } from '#src/recording/exchange-record.ts';
import { readHeader, settingsOfHeader } from '#src/recording/journal/journal-header.ts';
import { type JournalLines, readJournal } from '#src/recording/journal/journal-lines.ts';
import { exchangesOf } from '#src/recording/judged-exchanges.ts';
import { isUndelivered } from '#src/sim/devices/outcomes.ts';
import { Simulator } from '#src/simulator.ts';

export type Replayed = ReturnType<typeof replayLines>;

/**
 * Replays a journal in a new simulator, from its checkpoint if it has one, and compares every
 * reply. Throws a JournalError if it cannot be played.
 */
export function replayJournal(path: string, recordBound?: RecordBound): Replayed {
  for (;;) {
    const lines = readJournal(path);
    try {
      return replayLines(path, lines, recordBound);
    } catch (error) {
      // Tries again if the service that records into this file has replaced it meanwhile.
      if (readJournal(path)?.header === lines?.header) throw error;
    }
  }
}

function replayLines(
  path: string,
  lines: JournalLines | undefined,
  recordBound: RecordBound | undefined,
) {
  if (lines === undefined) throw new JournalError(`${path}: there is no such file`);
  if (lines.header === undefined) {
    const state = lines.isTruncated ? 'has an incomplete first line' : 'is empty';
    throw new JournalError(`${path}: the journal ${state}`);
  }
  const header = readHeader(lines.header, path);
  const { settings, keyDigests } = settingsOfHeader(header, path);
  const simulator = new Simulator(settings, {
    startAtMs: Date.parse(header.started_at),
    keyDigests,
    journal: false,
    recordBound,
  });
  try {
    simulator.wallClock.hold();
    const played = atOnce(playingFrom(simulator, lines, header, path));
    const { exchangeRecord } = simulator;
    const { world } = simulator.simulation;
    const { isTruncated } = lines;
    return { ...played, header, isTruncated, exchangeRecord, world };
  } finally {
    void simulator.close();
  }
}

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
