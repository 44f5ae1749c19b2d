/**
 * Bounds a journal: after enough inputs since the last checkpoint, writes the next one and
 * continues the journal from it.
 *
 * The state is written to a separate file while inputs still go to the journal. Then a new journal
 * is written: its header names the checkpoint, and it holds the inputs that have arrived meanwhile.
 * Renaming it over the old one is the only step that matters. Before it, the run is the old journal
 * and its checkpoint; after it, the new ones. The next start removes all other files of a killed
 * process.
 */
import { promises } from 'node:fs';
import { isoTime } from '../sim/clock.ts';
import { writeCheckpoint } from './checkpoint-file.ts';
import type { CheckpointState } from './checkpoint-state.ts';
import { lineOf } from './journal-checksum.ts';
import { codeOf, JournalError } from './journal-error.ts';
import type { FileJournal, JournalWatch } from './journal-file.ts';
import {
  checkpointFile,
  type JournalFiles,
  namedCheckpoint,
  nameOf,
  removeOwn,
  syncFolder,
} from './journal-files.ts';
import type { Checkpoint, JournalHeader } from './journal-header.ts';

/** The default of `--journal-max`. */
export const defaultJournalMaxBytes = 1024 * 1024 * 1024;

/** The largest remainder that is copied synchronously, while the service waits. */
const lastCopyBytes = 65_536;
const blockBytes = 1_048_576;
const permissions = 0o777;

export interface CheckpointPlan {
  readonly path: string;
  readonly files: JournalFiles;
  readonly journal: FileJournal;
  readonly header: JournalHeader;
  /** Inputs of the run so far. */
  readonly inputs: number;
  readonly maxBytes: number;
  readonly takeState: () => CheckpointState;
  readonly onNotice: ((line: string) => void) | undefined;
}

/** One checkpoint that is being written. */
interface Attempt {
  readonly number: number;
  readonly file: string;
  isStopped: boolean;
  /** True once the journal names this checkpoint: its file must then stay. */
  isDone: boolean;
}

export class Checkpoints implements JournalWatch {
  dueBytes: number;
  readonly #plan: CheckpointPlan;
  readonly #files: JournalFiles;
  /** Inputs of the run before this process. */
  readonly #inputsBefore: number;
  #header: JournalHeader;
  #attempt: Attempt | undefined;
  #ended: Promise<void> = Promise.resolve();
  #isClosed = false;
  #hasFailed = false;

  constructor(plan: CheckpointPlan) {
    this.#plan = plan;
    this.#files = plan.files;
    this.#inputsBefore = plan.inputs - plan.journal.inputs;
    this.#header = plan.header;
    this.dueBytes = lineOf(plan.header).length + plan.maxBytes / 2;
    if (plan.journal.bytes >= this.dueBytes) this.onDue();
  }

  onDue(): void {
    if (this.#attempt !== undefined || this.#isClosed) return;
    const number = (this.#header.checkpoint?.number ?? 0) + 1;
    const file = checkpointFile(this.#files, number);
    const attempt = { number, file, isStopped: false, isDone: false };
    this.#attempt = attempt;
    // Deferred, because this may run in the middle of an input.
    this.#ended = new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
      this.#run(attempt),
    );
  }

  makeRoom(): boolean {
    const attempt = this.#attempt;
    if (attempt === undefined || attempt.isStopped || attempt.isDone) return false;
    this.#failed(attempt, 'ENOSPC');
    return true;
  }

  /** Stops the checkpoint that is being written, and starts no more. */
  close(): Promise<void> | undefined {
    this.#isClosed = true;
    if (this.#attempt === undefined) return undefined;
    this.#stop(this.#attempt);
    return this.#ended;
  }

  async #run(attempt: Attempt): Promise<void> {
    try {
      await this.#replaceJournal(attempt);
    } catch (error) {
      if (!attempt.isStopped) this.#failed(attempt, codeOf(error));
    }
    // Removes files that were created after the stop.
    if (attempt.isStopped) this.#stop(attempt);
    this.#attempt = undefined;
    if (this.#plan.journal.bytes >= this.dueBytes) this.onDue();
  }

  async #replaceJournal(attempt: Attempt): Promise<void> {
    if (attempt.isStopped) return;
    const { journal, takeState, maxBytes } = this.#plan;
    const fromBytes = journal.bytes;
    const inputs = this.#inputsBefore + journal.inputs;
    const state = takeState();
    const digest = await writeCheckpoint(attempt.file, state.parts, attempt).finally(() =>
      state.release(),
    );
    if (digest === undefined) return;
    const { number, file } = attempt;
    const at = isoTime(state.atMs);
    const checkpoint: Checkpoint = { number, file: nameOf(file), ...digest, at, inputs };
    const header = { ...this.#header, checkpoint };
    const line = lineOf(header);
    const copiedTo = await writeSuccessor(this.#files, line, journal, fromBytes, attempt);
    await syncFolder(this.#files);
    if (attempt.isStopped) return;
    const cameMeanwhile = journal.bytes - fromBytes;
    journal.continueIn(this.#files.next, copiedTo);
    attempt.isDone = true;
    const { checkpoint: replaced } = this.#header;
    this.#header = header;
    this.#hasFailed = false;
    // Starts early enough to end, in most cases, before half of the bound is reached.
    this.dueBytes = line.length + Math.max(maxBytes / 8, maxBytes / 2 - cameMeanwhile);
    await syncFolder(this.#files);
    // Its digest was in the header, so it is ours. Another thread frees its blocks.
    if (replaced === undefined) return;
    await promises.rm(namedCheckpoint(this.#files, replaced), { force: true }).catch(() => {});
  }

  /**
   * The run continues without the checkpoint; the next attempt follows after as many bytes again.
   */
  #failed(attempt: Attempt, code: string): void {
    const { path, journal, maxBytes, onNotice } = this.#plan;
    this.#stop(attempt);
    this.dueBytes = journal.bytes + maxBytes / 2;
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    onNotice?.(
      `${path}: cannot write the checkpoint ${attempt.file} (${code}); ` +
        'the run goes on, and the journal grows until a checkpoint can be written',
    );
  }

  #stop(attempt: Attempt): void {
    attempt.isStopped = true;
    if (attempt.isDone) return;
    discard(attempt.file, 'checkpoint');
    discard(this.#files.next, 'journal');
  }
}

/** A file that cannot be removed stays: the next start tries again, or names it. */
function discard(path: string, kind: 'checkpoint' | 'journal'): void {
  try {
    removeOwn(path, kind);
  } catch {
    // It is not ours, or the folder cannot be written.
  }
}

/**
 * Writes the journal that continues from a checkpoint: its header, and a copy of the inputs since
 * the state was taken. Returns where in the old journal the copy ends; `continueIn` adds the rest.
 */
async function writeSuccessor(
  files: JournalFiles,
  header: string,
  journal: FileJournal,
  fromBytes: number,
  attempt: Attempt,
): Promise<number> {
  const from = await promises.open(files.journal, 'r');
  try {
    const to = await promises.open(files.next, 'wx', 0o600);
    try {
      await to.chmod((await from.stat()).mode & permissions);
      await to.writeFile(header);
      const copiedTo = await copy(from, to, journal, fromBytes, attempt);
      await to.sync();
      return await copy(from, to, journal, copiedTo, attempt);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** Inputs keep arriving, but at the speed of the same disk, so the copy catches up. */
async function copy(
  from: promises.FileHandle,
  to: promises.FileHandle,
  journal: FileJournal,
  fromBytes: number,
  attempt: Attempt,
): Promise<number> {
  const block = Buffer.allocUnsafe(blockBytes);
  let copiedTo = fromBytes;
  while (journal.bytes - copiedTo > lastCopyBytes && !attempt.isStopped) {
    const length = Math.min(journal.bytes - copiedTo, blockBytes);
    const { bytesRead } = await from.read(block, 0, length, copiedTo);
    if (bytesRead === 0) throw new JournalError('the journal is shorter than what was written');
    await to.writeFile(block.subarray(0, bytesRead));
    copiedTo += bytesRead;
  }
  return copiedTo;
}
