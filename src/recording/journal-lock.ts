/**
 * One process at a time writes a journal: a file beside it names the one that does. A process that was killed leaves
 * its file behind; whoever comes next sees that it is gone, and takes the journal over.
 * It holds among the processes of one machine: another one's, on a shared folder, cannot be looked for.
 */
import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { WallClock } from '../simulation/wall-clock.ts';
import { JournalError } from './journal-error.ts';

interface Owner {
  readonly pid: number;
  /** When it started, as its system counts; a number of a process is used again. Null: the system does not tell. */
  readonly started: string | null;
}

/** Several that start at once and find one that is gone; all but one of them then find that one. */
const tries = 10;
/** A lock without a word in it may be one that is just being written. */
const writtenWithinMs = 1_000;
/** Locks that this process holds, where no system tells whether a process of its number is itself. */
const held = new Set<string>();

/** Returns what ends it. Throws a JournalError while another process, or another simulator, writes the journal. */
export function lockJournal(path: string): () => void {
  const lock = lockFileOf(path);
  return lock === undefined ? () => {} : acquire(lock, path);
}

function acquire(lock: string, path: string): () => void {
  for (let n = 0; n < tries; n++) {
    if (create(lock, path)) {
      held.add(lock);
      return () => release(lock);
    }
    if (isLeftBehind(lock, path)) removeLeftBehind(lock, path);
  }
  throw new JournalError(
    `${path}: the journal cannot be locked: ${lock} comes back again and again`,
  );
}

/** Whether what the dead left is there; of one reading, as the next may find another's. Throws where the lock is held. */
function isLeftBehind(lock: string, path: string): boolean {
  const text = textOf(lock);
  if (text === undefined) return false;
  const owner = ownerIn(text);
  const isHeld = owner === undefined ? isBeingWritten(lock, text) : isRunning(owner, lock);
  if (isHeld) throw refusal(path, owner);
  return true;
}

/** Under a lock of its own, so that nothing takes the place of what is removed between the look and the removal. */
function removeLeftBehind(lock: string, path: string): void {
  const unlock = acquire(`${lock}.takeover`, path);
  try {
    if (isLeftBehind(lock, path)) rmSync(lock, { force: true });
  } finally {
    unlock();
  }
}

function refusal(path: string, owner: Owner | undefined): JournalError {
  const writer = owner === undefined ? 'another process' : `the process ${owner.pid}`;
  return new JournalError(
    `${path}: ${writer} writes this journal; stop it first, or record in another file`,
  );
}

/** Undefined where there is nothing to lock: a device, or a folder that does not exist. */
function lockFileOf(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    return statSync(real).isFile() ? `${real}.lock` : undefined;
  } catch {
    // A new journal.
  }
  try {
    return join(realpathSync(dirname(path)), `${basename(path)}.lock`);
  } catch {
    return undefined;
  }
}

/** False where there is one already. */
function create(lock: string, path: string): boolean {
  const owner: Owner = { pid: process.pid, started: lookUp(process.pid)?.started ?? null };
  const text = JSON.stringify(owner);
  try {
    return createWhole(lock, text) ?? createNew(lock, text);
  } catch (error) {
    throw new JournalError(`${path}: the journal cannot be locked by ${lock} (${codeOf(error)})`);
  }
}

/** Nobody finds it without its text, as it is linked once that is written. Undefined where there are no links. */
function createWhole(lock: string, text: string): boolean | undefined {
  const own = join(dirname(lock), `.smstwin-lock-${randomUUID()}`);
  try {
    writeFileSync(own, text, { flag: 'wx', mode: 0o600 });
    linkSync(own, lock);
    return true;
  } catch (error) {
    return codeOf(error) === 'EEXIST' ? false : undefined;
  } finally {
    rmSync(own, { force: true });
  }
}

function createNew(lock: string, text: string): boolean {
  try {
    writeFileSync(lock, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function release(lock: string): void {
  if (!held.delete(lock)) return;
  if (ownerIn(textOf(lock) ?? '')?.pid === process.pid) rmSync(lock, { force: true });
}

/** Undefined where there is none. */
function textOf(lock: string): string | undefined {
  try {
    return readFileSync(lock, 'utf8');
  } catch {
    return undefined;
  }
}

/** Undefined where the text was cut short. */
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

function isBeingWritten(lock: string, text: string): boolean {
  if (text !== '') return false;
  try {
    // A file's time may be ahead of ours by as much.
    return Math.abs(WallClock.nowMs() - statSync(lock).mtimeMs) < writtenWithinMs;
  } catch {
    // Gone since it was read: it is not what was looked at that would be removed.
    return true;
  }
}

function isRunning({ pid, started }: Owner, lock: string): boolean {
  const found = lookUp(pid);
  if (found !== undefined) return found.isAlive && (started === null || started === found.started);
  // Where the system tells of ourselves, it would tell of any other.
  if (lookUp(process.pid) !== undefined) return false;
  if (pid === process.pid) return held.has(lock);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** What Linux tells of a process; undefined where it has none of that number, or there is no such system. */
function lookUp(pid: number): { readonly isAlive: boolean; readonly started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; the state follows it, and the start is 19 fields on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = ''] = fields;
    return { isAlive: !'ZX'.includes(state), started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
