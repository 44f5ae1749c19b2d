/**
 * A recorded run, played again from its file alone.
 */
import { Simulator } from '../simulator.ts';
import { JournalError } from './journal-error.ts';
import { type JournalHeader, readHeader, settingsOfHeader } from './journal-header.ts';
import { readJournal } from './journal-lines.ts';
import { type Played, play } from './play.ts';

export interface Replayed extends Played {
  readonly header: JournalHeader;
  /** The last line was cut short, and left out. */
  readonly isTruncated: boolean;
}

/** Plays a journal in a simulator of its own and compares every reply. Throws a JournalError where it cannot. */
export function replayJournal(path: string): Replayed {
  const lines = readJournal(path);
  if (lines === undefined) throw new JournalError(`${path}: there is no such file`);
  if (lines.header === undefined) {
    const state = lines.isTruncated ? 'was cut short in its first line' : 'is empty';
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
