/**
 * Runs the command `smstwin explore` of this checkout in a child process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loader, program } from '../testkit/program.ts';

export const client = (name: string) =>
  fileURLToPath(new URL(`./clients/${name}`, import.meta.url));

export interface Explored {
  readonly exitCode: number | null;
  readonly out: string;
  readonly error: string;
}

/** Calls `use` with the process as soon as it has started. */
export function runExplore(
  argv: readonly string[],
  use: (child: ChildProcess) => void = () => {},
): Promise<Explored> {
  const child = spawn(process.execPath, [...loader, program, 'explore', ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let error = '';
  child.stdout.on('data', (bytes: Buffer) => {
    out += bytes.toString();
  });
  child.stderr.on('data', (bytes: Buffer) => {
    error += bytes.toString();
  });
  use(child);
  return new Promise((resolve) => {
    child.once('close', (exitCode) => resolve({ exitCode, out, error }));
  });
}
