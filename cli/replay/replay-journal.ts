/**
 * Replays a recorded run from its journal file alone, for `smstwin replay` and the referee.
 */

import { atOnce } from '#io/at-once.ts';
import { JournalError } from '#judging/evidence/journal-error.ts';
import { playingFrom } from '#src/recording/checkpoint/resume.ts';
import type { RecordBound } from '#src/recording/exchange-record.ts';
import { readHeader, settingsOfHeader } from '#src/recording/journal/journal-header.ts';
import { type JournalLines, readJournal } from '#src/recording/journal/journal-lines.ts';
import { Simulator } from '#src/simulator.ts';

/** The result of a replay, and the simulator's state at the end of the run. */
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
    /** True if an incomplete last line was ignored. */
    const { isTruncated } = lines;
    return { ...played, header, isTruncated, exchangeRecord, world };
  } finally {
    void simulator.close();
  }
}
