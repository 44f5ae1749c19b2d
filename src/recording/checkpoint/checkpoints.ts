/**
 * Bounds the length of a journal: after enough inputs, writes a checkpoint (the whole state at one
 * instant) and continues the journal from it.
 *
 * The checkpoint is written to a separate file while inputs still go to the journal. Then a new
 * journal is written: its header names the checkpoint, and it holds the inputs that have arrived
 * meanwhile. One rename over the old journal completes the change: before it, the run is the old
 * journal with its checkpoint; after it, the new ones. The next start removes what a kill has left.
 */
import { promises } from 'node:fs';
import { basename } from 'node:path';
import { isoTime } from '#contract/time.ts';
import { systemCodeOf } from '#io/plain-file.ts';
import { JournalError, lineOf } from '#judging/evidence/journal-line.ts';
import type { Checkpoint, JournalHeader } from '../journal/journal-header.ts';
import type { FileJournal, JournalWatch } from '../journal/journal-writer.ts';
import {
  checkpointFile,
  type JournalFiles,
  namedCheckpoint,
  removeOwn,
  syncFolder,
} from '../journal/run-files.ts';
import { writeCheckpoint } from './checkpoint-file.ts';
import type { CheckpointState } from './checkpoint-state.ts';

/** The default of `--journal-max`. */
export const defaultJournalMaxBytes = 1024 * 1024 * 1024;

/** The largest remainder that is copied synchronously, while the service waits. */
const lastCopyBytes = 65_536;
const blockBytes = 1_048_576;
const permissionBits = 0o777;

export interface CheckpointPlan {
  /** The journal as the user names it, for messages. */
  readonly path: string;
  readonly files: JournalFiles;
  readonly journal: FileJournal;
  readonly header: JournalHeader;
  /** Inputs of the run so far. */
  readonly inputs: number;
  /** `--journal-max`. */
  readonly maxBytes: number;
  readonly takeState: () => CheckpointState;
  readonly onNotice: ((line: string) => void) | undefined;
}

/** One checkpoint that is being written. */
interface Attempt {
  readonly number: number;
  readonly file: string;
  /** True once it has failed or was stopped: its files are then removed. */
  isStopped: boolean;
  /** True once the journal names this checkpoint: its file must then stay. */
  isDone: boolean;
}

export class Checkpoints implements JournalWatch {
  /** The length of the journal at which the next checkpoint begins. */
  dueBytes: number;
  readonly #plan: CheckpointPlan;
  readonly #files: JournalFiles;
  /** Inputs of the run before this process. */
  readonly #inputsBefore: number;
  /** The header of the present journal file. */
  #header: JournalHeader;
  #attempt: Attempt | undefined;
  /** Resolves at the end of the last attempt. */
  #attemptEnded: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** True if the last attempt failed: the user has then been notified. */
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
    this.#attemptEnded = new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
      this.#run(attempt),
    );
  }

  makeRoom(): boolean {
    const attempt = this.#attempt;
    if (attempt === undefined || attempt.isStopped || attempt.isDone) return false;
    this.#fail(attempt, 'ENOSPC');
    return true;
  }

  /** Stops the checkpoint that is being written, and starts no more. */
  close(): Promise<void> | undefined {
    this.#isClosed = true;
    if (this.#attempt === undefined) return undefined;
    this.#stop(this.#attempt);
    return this.#attemptEnded;
  }

  async #run(attempt: Attempt): Promise<void> {
    try {
      await this.#replaceJournal(attempt);
    } catch (error) {
      if (!attempt.isStopped) this.#fail(attempt, systemCodeOf(error));
    }
    // Removes files that were created after the stop.
    if (attempt.isStopped) this.#stop(attempt);
    this.#attempt = undefined;
    if (this.#plan.journal.bytes >= this.dueBytes) this.onDue();
  }

  async #replaceJournal(attempt: Attempt): Promise<void> {
    if (attempt.isStopped) return;
    const { journal, takeState, maxBytes } = this.#plan;
    // Before `journal.bytes` is read, because it makes the journal write the lines that wait.
    const state = takeState();
    const takenBytes = journal.bytes;
    const inputs = this.#inputsBefore + journal.inputs;
    const digest = await writeCheckpoint(attempt.file, state.parts, attempt).finally(() =>
      state.release(),
    );
    if (digest === undefined) return;
    const { number, file } = attempt;
    const at = isoTime(state.atMs);
    const checkpoint: Checkpoint = { number, file: basename(file), ...digest, at, inputs };
    const header = { ...this.#header, checkpoint };
    const line = lineOf(header);
    const copiedTo = await this.#writeSuccessor(line, takenBytes, attempt);
    await syncFolder(this.#files);
    if (attempt.isStopped) return;
    const bytesMeanwhile = journal.bytes - takenBytes;
    journal.continueIn(this.#files.next, copiedTo);
    attempt.isDone = true;
    const replaced = this.#header.checkpoint;
    this.#header = header;
    this.#hasFailed = false;
    // The next checkpoint starts early enough to end, in most cases, at half of the bound.
    this.dueBytes = line.length + Math.max(maxBytes / 8, maxBytes / 2 - bytesMeanwhile);
    await syncFolder(this.#files);
    // smstwin wrote it, as the header held its digest. Asynchronous: freeing its blocks takes long.
    if (replaced === undefined) return;
    await promises.rm(namedCheckpoint(this.#files, replaced), { force: true }).catch(() => {});
  }

  /** Continues without this checkpoint. The next attempt follows after half of the bound again. */
  #fail(attempt: Attempt, code: string): void {
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

  /** Removes the files of an attempt, unless the journal names its checkpoint already. */
  #stop(attempt: Attempt): void {
    attempt.isStopped = true;
    if (attempt.isDone) return;
    discard(attempt.file, 'checkpoint');
    discard(this.#files.next, 'journal');
  }

  /**
   * Writes the journal that continues from a checkpoint: its header, and a copy of the inputs since
   * the state was taken. Returns where in the old journal the copy ends.
   */
  async #writeSuccessor(header: string, fromBytes: number, attempt: Attempt): Promise<number> {
    const from = await promises.open(this.#files.journal, 'r');
    try {
      const to = await promises.open(this.#files.next, 'wx', 0o600);
      try {
        await to.chmod((await from.stat()).mode & permissionBits);
        await to.writeFile(header);
        const copiedTo = await this.#copy(from, to, fromBytes, attempt);
        // Inputs have arrived during the sync.
        await to.sync();
        return await this.#copy(from, to, copiedTo, attempt);
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
  }

  /** Copies until at most `lastCopyBytes` remain: it is faster than the inputs that arrive. */
  async #copy(
    from: promises.FileHandle,
    to: promises.FileHandle,
    fromBytes: number,
    attempt: Attempt,
  ): Promise<number> {
    const { journal } = this.#plan;
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
}

/** Removes a file if possible; otherwise the next start removes it, or refuses it by name. */
function discard(path: string, kind: 'checkpoint' | 'journal'): void {
  try {
    removeOwn(path, kind);
  } catch {
    // smstwin did not write it, or the folder cannot be written.
  }
}
