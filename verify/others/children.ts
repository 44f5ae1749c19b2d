/**
 * Starts the processes of the comparison, and ends all of them when it ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { processTree } from './process-tree.ts';

const alive = new Set<ChildProcess>();

export interface ChildOptions {
  readonly cwd: string;
  /** The file for stderr. Stdout is discarded, which silences logs. */
  readonly errorFile: string;
}

export function startChild(
  command: string,
  argv: readonly string[],
  { cwd, errorFile }: ChildOptions,
): ChildProcess {
  const errors = openSync(errorFile, 'w');
  const child = spawn(command, argv, { cwd, stdio: ['ignore', 'ignore', errors] });
  closeSync(errors);
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  child.once('error', () => alive.delete(child));
  return child;
}

export function endChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (!alive.has(child)) resolve();
    else {
      child.once('exit', () => resolve());
      killTree(child);
    }
  });
}

/** Kills without waiting: called while this process exits. */
export function endAllChildren(): void {
  for (const child of alive) killTree(child);
}

function killTree({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  for (const id of processTree(pid)) {
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // Already ended.
    }
  }
}
