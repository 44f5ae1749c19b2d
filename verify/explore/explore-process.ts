/** Runs the command `smstwin explore` of this checkout in a child process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loader, program } from '../testkit/processes/program.ts';

export const clientPath = (name: string) =>
  fileURLToPath(new URL(`./clients/${name}`, import.meta.url));

export interface Explored {
  readonly exitCode: number | null;
  readonly out: string;
  readonly error: string;
}

/** Calls `use` with the process as soon as it has started. */
export async function runExplore(
  argv: readonly string[],
  use: (child: ChildProcess) => void = () => {},
): Promise<Explored> {
  const child = spawn(process.execPath, [...loader, program, 'explore', ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  use(child);
  const [[exitCode], out, error] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { exitCode, out, error };
}
