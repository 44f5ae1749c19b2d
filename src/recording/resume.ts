/**
 * Resumes a run from its journal: restores the checkpoint that its header names, replays the
 * recorded inputs, then appends to the file.
 */
import { statSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import { readCheckpoint } from './checkpoint-file.ts';
import { type Checkpointed, checkpointState, restoreState } from './checkpoint-state.ts';
import { Checkpoints } from './checkpoints.ts';
import { firstLine, JournalError } from './journal-error.ts';
import { FileJournal } from './journal-file.ts';
import { journalFiles, namedCheckpoint } from './journal-files.ts';
import { checkSameSettings, headerOf, type JournalHeader, readHeader } from './journal-header.ts';
import { type JournalLines, readJournal } from './journal-lines.ts';
import { lockJournal } from './journal-lock.ts';
import { type Played, type Player, play } from './play.ts';

/** A simulator that records further inputs after the run was played on it. */
export interface Resumed extends Player, Checkpointed {
  readonly settings: Settings;
}

export interface ResumeOptions {
  /** A checkpoint replaces the inputs once the journal approaches this size. */
  readonly journalMaxBytes: number;
  readonly onNotice: ((line: string) => void) | undefined;
}

/** A journal file that has been checked before the simulator starts. */
export interface Run {
  /** The simulated time at the start; undefined for a new file. */
  readonly startedAtMs: number | undefined;
  /** Replays the file, reports an incomplete last line and continues recording. */
  resume(simulator: Resumed, options: ResumeOptions): FileJournal;
  /** Unlocks the file if the run fails to start. */
  abandon(): void;
}

/**
 * Throws a JournalError if the version or the settings differ, or another process writes the file.
 */
export function openRun(path: string, settings: Settings): Run {
  const unlock = lockJournal(path);
  try {
    const lines = readJournal(path);
    const header = lines?.header === undefined ? undefined : readHeader(lines.header, path);
    if (header !== undefined) checkSameSettings(header, settings, path);
    return {
      startedAtMs: header === undefined ? undefined : Date.parse(header.started_at),
      resume: (simulator, options) => resume(path, lines, header, unlock, simulator, options),
      abandon: unlock,
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function resume(
  path: string,
  lines: JournalLines | undefined,
  found: JournalHeader | undefined,
  unlock: () => void,
  simulator: Resumed,
  { journalMaxBytes, onNotice }: ResumeOptions,
): FileJournal {
  const { wallClock, simulation } = simulator;
  let inputs = 0;
  if (lines !== undefined && found !== undefined) {
    wallClock.hold();
    inputs = playSame(simulator, lines, found, path);
  }
  const journal = new FileJournal(path, unlock);
  if (lines?.isTruncated === true) {
    journal.truncate(lines.wholeBytes);
    onNotice?.(`${path}: the last line is incomplete and was ignored`);
  }
  const header = found ?? headerOf(simulator.settings, simulation.clock.now());
  if (found === undefined) journal.begin(header);
  // A device or a pipe keeps no data that a checkpoint could replace.
  if (statSync(path).isFile() && journalMaxBytes !== Number.POSITIVE_INFINITY) {
    const takeState = () => checkpointState(simulator);
    const plan = { path, journal, header, inputs, maxBytes: journalMaxBytes, takeState, onNotice };
    journal.watch(new Checkpoints(plan));
  }
  wallClock.release();
  return journal;
}

/** Returns the number of inputs of the run so far. */
function playSame(
  simulator: Resumed,
  lines: JournalLines,
  header: JournalHeader,
  path: string,
): number {
  const { inputs, differing, differences } = playFrom(simulator, lines, header, path);
  const [first] = differences;
  if (first !== undefined) {
    const others = differing > 1 ? ` (and ${differing - 1} others)` : '';
    throw new JournalError(
      `${path}: line ${first.line}: ${first.input}: the replayed result differs from the ` +
        `recorded one${others}`,
    );
  }
  return (header.checkpoint?.inputs ?? 0) + inputs;
}

/**
 * Restores the journal's checkpoint, if any, and plays its inputs. The caller must hold the wall
 * clock.
 */
export function playFrom(
  simulator: Player & Checkpointed,
  lines: JournalLines,
  { checkpoint }: JournalHeader,
  path: string,
): Played {
  if (checkpoint !== undefined) {
    const file = namedCheckpoint(journalFiles(path), checkpoint);
    const parts = readCheckpoint(file, checkpoint, path);
    try {
      restoreState(simulator, parts);
      simulator.exchangeRecord.restart(true);
    } catch (error) {
      throw new JournalError(`${file}: cannot be restored: ${firstLine(error)}`, { cause: error });
    }
  }
  return play(simulator, lines.entries, path);
}
