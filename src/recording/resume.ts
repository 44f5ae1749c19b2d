/**
 * A run that goes on from where its journal ends: played again up to there, then appended to.
 */
import { truncateSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import type { Simulator } from '../simulator.ts';
import { FileJournal } from './journal.ts';
import { JournalError } from './journal-error.ts';
import { checkSameSettings, headerOf, readHeader } from './journal-header.ts';
import { readJournal } from './journal-lines.ts';
import { lockJournal } from './journal-lock.ts';
import { play } from './play.ts';

/** A journal file, looked at before the simulator starts. */
export interface Run {
  /** Where its simulated time started; undefined for a new file. */
  readonly startedAtMs: number | undefined;
  /** Plays what is there, tells of a line that was cut short, and goes on recording. */
  resume(simulator: Simulator, onNotice: ((line: string) => void) | undefined): FileJournal;
  /** Gives the file up, where the run does not come to be. */
  abandon(): void;
}

/** Throws a JournalError where the file is of another version or other settings, or another process writes it. */
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
            `${path}: line ${first.line}: ${first.input} is answered otherwise than it was${others}`,
          );
        }
      }
      const journal = new FileJournal(path, unlock);
      if (lines?.isTruncated === true) {
        truncateSync(path, lines.wholeBytes);
        onNotice?.(`${path}: the last line was cut short, and is left out`);
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
