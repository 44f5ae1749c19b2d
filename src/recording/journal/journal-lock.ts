/**
 * Lets one process at a time write a journal: a `.lock` file next to it names the owner. A lock
 * whose process has exited is stale, and the next process removes it. Works within one machine: it
 * cannot check a process of another machine that shares the folder.
 */
import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { createWhole } from '#io/own-file.ts';
import { readOpened, reasonOf, systemCodeOf } from '#io/plain-file.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { WallClock } from '../../simulation/wall-clock.ts';
import { journalFiles, openOwn, refusal, removeOwn } from './run-files.ts';

/** The content of a lock: the process that holds it. */
interface Owner {
  readonly pid: number;
  /** Tells processes with a reused pid apart; null if the system does not report start times. */
  readonly started: string | null;
}

/** Processes that start together may all find the same stale lock; one of them replaces it. */
const maxAttempts = 10;
/** Another process may still write an empty lock that is younger than this. */
const writtenWithinMs = 1_000;
/** A lock holds a process id and a start time: about 40 bytes. */
const mostLockBytes = 1_024;
/** The locks that this process holds, for systems that do not report start times. */
const heldLocks = new Set<string>();

/** Returns a release function. Throws a JournalError if another process or simulator locked it. */
export function lockJournal(path: string): () => void {
  return acquire(journalFiles(path).lock, path);
}

function acquire(lock: string, path: string): () => void {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (create(lock, path)) {
      heldLocks.add(lock);
      return () => release(lock);
    }
    if (isStale(lock, path)) removeStale(lock, path);
  }
  throw new JournalError(
    `${path}: cannot lock the journal: ${lock} reappeared ${maxAttempts} times; ` +
      'is another process restarting?',
  );
}

/**
 * True if the lock's process has exited; false if there is no lock. Throws a JournalError if the
 * lock is held. Reads the file once, since a second read could see a new owner.
 */
function isStale(lock: string, path: string): boolean {
  const content = read(lock);
  if (content === undefined) return false;
  const { owner, isBeingWritten } = content;
  const isHeld = owner === undefined ? isBeingWritten : isRunning(owner, lock);
  if (isHeld) throw heldBy(path, owner);
  return true;
}

/** Checks again under a second lock: a process may have replaced the stale lock meanwhile. */
function removeStale(lock: string, path: string): void {
  const unlock = acquire(`${lock}.takeover`, path);
  try {
    if (isStale(lock, path)) removeOwn(lock, 'lock');
  } finally {
    unlock();
  }
}

function heldBy(path: string, owner: Owner | undefined): JournalError {
  const writer = owner === undefined ? 'another process' : `process ${owner.pid}`;
  return new JournalError(
    `${path}: ${writer} writes this journal; stop it, or record in another file`,
  );
}

/** Returns false if the lock exists. */
function create(lock: string, path: string): boolean {
  const owner: Owner = { pid: process.pid, started: lookUp(process.pid)?.started ?? null };
  try {
    return createWhole(lock, JSON.stringify(owner));
  } catch (error) {
    throw new JournalError(`${path}: cannot create the lock ${lock} (${systemCodeOf(error)})`);
  }
}

function release(lock: string): void {
  if (!heldLocks.delete(lock)) return;
  try {
    if (read(lock)?.owner?.pid === process.pid) removeOwn(lock, 'lock');
  } catch {
    // Another program has put a file of its own there.
  }
}

interface LockContent {
  /** Undefined if the text is incomplete. */
  readonly owner: Owner | undefined;
  readonly isBeingWritten: boolean;
}

/** Undefined if the file does not exist. */
function read(lock: string): LockContent | undefined {
  const file = openOwn(lock, 'lock');
  if (file === undefined) return undefined;
  try {
    const text = readOpened(file, mostLockBytes);
    // Absolute, since the clock of the file system may be ahead.
    const ageMs = Math.abs(WallClock.nowMs() - fstatSync(file).mtimeMs);
    return { owner: ownerIn(text), isBeingWritten: text === '' && ageMs < writtenWithinMs };
  } catch (error) {
    throw refusal(lock, reasonOf(error));
  } finally {
    closeSync(file);
  }
}

function ownerIn(text: string): Owner | undefined {
  try {
    const { pid, started } = JSON.parse(text) as Partial<Owner>;
    return Number.isInteger(pid) && pid !== undefined
      ? { pid, started: started ?? null }
      : undefined;
  } catch {
    return undefined;
  }
}

function isRunning({ pid, started }: Owner, lock: string): boolean {
  const state = lookUp(pid);
  if (state !== undefined) return state.isAlive && (started === null || started === state.started);
  // A /proc that lists this process lists every running one.
  if (lookUp(process.pid) !== undefined) return false;
  if (pid === process.pid) return heldLocks.has(lock);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCodeOf(error) === 'EPERM';
  }
}

/** The process's entry in /proc; undefined if no such process runs, or there is no /proc. */
function lookUp(pid: number): { readonly isAlive: boolean; readonly started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name in parentheses may hold any character. The state follows it; the start time
    // is the 20th field from there.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = ''] = fields;
    // Z: a zombie, which has exited; X: being removed.
    return { isAlive: !'ZX'.includes(state), started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
