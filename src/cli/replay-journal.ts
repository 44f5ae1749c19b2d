/**
 * Replays a recorded run from its file alone.
 */

import { JournalError } from '../recording/journal-error.ts';
import { type JournalHeader, readHeader, settingsOfHeader } from '../recording/journal-header.ts';
import { readJournal } from '../recording/journal-lines.ts';
import { type Played, play } from '../recording/play.ts';
import { Simulator } from '../simulator.ts';

export interface Replayed extends Played {
  readonly header: JournalHeader;
  /** True if an incomplete last line was ignored. */
  readonly isTruncated: boolean;
}

/**
 * Replays a journal in a new simulator and compares every reply. Throws a JournalError if it cannot
 * be played.
 */
export function replayJournal(path: string): Replayed {
  const lines = readJournal(path);
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
  });
  try {
    simulator.wallClock.hold();
    const played = play(simulator, lines.entries, path);
    return { ...played, header, isTruncated: lines.isTruncated };
  } finally {
    void simulator.close();
  }
}
