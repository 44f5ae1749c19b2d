/**
 * Resumes a run from its journal: replays the recorded inputs, then appends to the file.
 */
import { truncateSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import { FileJournal } from './journal.ts';
import { JournalError } from './journal-error.ts';
import { checkSameSettings, headerOf, readHeader } from './journal-header.ts';
import { readJournal } from './journal-lines.ts';
import { lockJournal } from './journal-lock.ts';
import { type Player, play } from './play.ts';

/** A simulator that goes on recording after the run was played on it. */
export interface Resumed extends Player {
  readonly settings: Settings;
  readonly wallClock: WallClock;
}

/** A journal file that has been checked before the simulator starts. */
export interface Run {
  /** The simulated time at the start; undefined for a new file. */
  readonly startedAtMs: number | undefined;
  /** Replays the file, reports an incomplete last line and continues recording. */
  resume(simulator: Resumed, onNotice: ((line: string) => void) | undefined): FileJournal;
  /** Unlocks the file if the run fails to start. */
  abandon(): void;
}

/**
 * Throws a JournalError if the version or the settings differ, or another process writes the file.
 */
export function openRun(path: string, settings: Settings): Run {
  const unlock = lockJournal(path);
  try {
    return lockedRun(path, settings, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

function lockedRun(path: string, settings: Settings, unlock: () => void): Run {
  const lines = readJournal(path);
  const header = lines?.header === undefined ? undefined : readHeader(lines.header, path);
  if (header !== undefined) checkSameSettings(header, settings, path);
  return {
    startedAtMs: header === undefined ? undefined : Date.parse(header.started_at),
    resume: (simulator, onNotice) => {
      const { wallClock, simulation } = simulator;
      if (lines !== undefined && header !== undefined) {
        wallClock.hold();
        const { differing, differences } = play(simulator, lines.entries, path);
        const [first] = differences;
        if (first !== undefined) {
          const others = differing > 1 ? ` (and ${differing - 1} others)` : '';
          throw new JournalError(
            `${path}: line ${first.line}: ${first.input}: the replayed result differs from the ` +
              `recorded one${others}`,
          );
        }
      }
      const journal = new FileJournal(path, unlock);
      if (lines?.isTruncated === true) {
        truncateSync(path, lines.wholeBytes);
        onNotice?.(`${path}: the last line is incomplete and was ignored`);
      }
      if (header === undefined) {
        journal.begin(headerOf(simulator.settings, simulation.clock.now()));
      }
      wallClock.release();
      return journal;
    },
    abandon: unlock,
  };
}
