/**
 * Resumes a run from its journal: restores the checkpoint that its header names, replays the
 * recorded inputs, then appends to the file.
 */
import { atOnce } from '#io/event-loop.ts';
import { reasonOf } from '#io/plain-file.ts';
import { counted } from '#io/terminal.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import type { Settings } from '../../config/settings.ts';
import {
  checkSameSettings,
  type HostedHeader,
  headerOf,
  type JournalHeader,
  type KeyDigests,
  readHeader,
} from '../journal/journal-header.ts';
import { type JournalLines, readJournal } from '../journal/journal-lines.ts';
import { lockJournal } from '../journal/journal-lock.ts';
import { FileJournal } from '../journal/journal-writer.ts';
import { checkOwn, journalFiles, namedCheckpoint, removeLeftovers } from '../journal/run-files.ts';
import { type Played, playing, type ReplayTarget } from '../play.ts';
import { readCheckpoint } from './checkpoint-file.ts';
import { checkpointState, restoreCheckpoint } from './checkpoint-state.ts';
import { Checkpoints } from './checkpoints.ts';

export interface RunOptions {
  /** Written into the header of a new journal, if a user created the world. */
  readonly hosted: HostedHeader | undefined;
  /** The digests of keys in the settings whose text is not known. */
  readonly keyDigests: KeyDigests;
}

export interface ResumeOptions {
  /** A checkpoint replaces the inputs once the journal approaches this size. */
  readonly journalMaxBytes: number;
  readonly onNotice: ((line: string) => void) | undefined;
}

/** A journal file that was checked and locked, before the simulator starts. */
export interface Run {
  /** The simulated time at the start; undefined for a new file. */
  readonly startedAtMs: number | undefined;
  /**
   * Restores the checkpoint, replays the inputs after it, reports an incomplete last line, and goes
   * on to record: appends to the file, and writes checkpoints as it grows.
   */
  resume(simulator: ReplayTarget, options: ResumeOptions): FileJournal;
  /** Unlocks the file if the run fails to start. */
  abandon(): void;
}

/** A journal as it was found; `lines` and `header` are undefined for a new file. */
interface FoundJournal {
  readonly path: string;
  readonly unlock: () => void;
  readonly lines: JournalLines | undefined;
  readonly header: JournalHeader | undefined;
}

/**
 * Locks and checks a journal. Throws a JournalError if the version or the settings differ, or
 * another process writes the file.
 */
export function openRun(path: string, settings: Settings, options: RunOptions): Run {
  checkOwn(journalFiles(path).journal, 'journal');
  const unlock = lockJournal(path);
  try {
    const lines = readJournal(path);
    const header = lines?.header === undefined ? undefined : readHeader(lines.header, path);
    if (header !== undefined) checkSameSettings(header, settings, path, options.keyDigests);
    const found: FoundJournal = { path, unlock, lines, header };
    return {
      startedAtMs: header === undefined ? undefined : Date.parse(header.started_at),
      resume: (simulator, resumeOptions) =>
        resume(found, simulator, { ...options, ...resumeOptions }),
      abandon: unlock,
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function resume(
  { path, unlock, lines, header: recordedHeader }: FoundJournal,
  simulator: ReplayTarget,
  { journalMaxBytes, onNotice, hosted, keyDigests }: ResumeOptions & RunOptions,
): FileJournal {
  const { wallClock, simulation } = simulator;
  let inputs = 0;
  if (lines !== undefined && recordedHeader !== undefined) {
    wallClock.hold();
    inputs = replayExactly(simulator, lines, recordedHeader, path);
  }
  const files = journalFiles(path);
  removeLeftovers(files, recordedHeader?.checkpoint);
  const journal = new FileJournal(path, files, unlock);
  if (lines?.isTruncated === true) {
    journal.truncate(lines.wholeBytes);
    onNotice?.(`${path}: the last line is incomplete and was ignored`);
  }
  const startedAtMs = simulation.clock.now();
  const header = recordedHeader ?? headerOf(simulator.settings, startedAtMs, hosted, keyDigests);
  if (recordedHeader === undefined) journal.begin(header);
  if (journalMaxBytes !== Number.POSITIVE_INFINITY) {
    const takeState = () => checkpointState(simulator);
    const plan = { path, files, journal, header, inputs, takeState, onNotice };
    journal.watch(new Checkpoints({ ...plan, maxBytes: journalMaxBytes }));
  }
  wallClock.release();
  return journal;
}

/** Returns the number of inputs of the run so far. Throws a JournalError if a result differs. */
function replayExactly(
  simulator: ReplayTarget,
  lines: JournalLines,
  header: JournalHeader,
  path: string,
): number {
  const { inputs, differing, differences } = atOnce(playingFrom(simulator, lines, header, path));
  const [first] = differences;
  if (first !== undefined) {
    const others = differing > 1 ? ` (and ${counted(differing - 1, 'other')})` : '';
    throw new JournalError(
      `${path}: line ${first.line}: ${first.input}: the replayed result differs from the ` +
        `recorded one${others}; it is now ${first.actual}`,
    );
  }
  return (header.checkpoint?.inputs ?? 0) + inputs;
}

/**
 * Restores the journal's checkpoint, if any, and plays its inputs. The caller must hold the wall
 * clock.
 */
export function* playingFrom(
  simulator: ReplayTarget,
  lines: Pick<JournalLines, 'entries'>,
  { checkpoint }: JournalHeader,
  path: string,
): Generator<undefined, Played> {
  if (checkpoint !== undefined) {
    const file = namedCheckpoint(journalFiles(path), checkpoint);
    const parts = readCheckpoint(file, checkpoint, path);
    try {
      restoreCheckpoint(simulator, parts);
      simulator.exchangeRecord.restart({ isCutAtStart: true });
    } catch (error) {
      if (error instanceof JournalError) throw error;
      throw new JournalError(`${file}: cannot restore the checkpoint: ${reasonOf(error)}`, {
        cause: error,
      });
    } finally {
      parts.return(undefined);
    }
  }
  return yield* playing(simulator, lines.entries, path);
}
