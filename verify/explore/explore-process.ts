/** Runs the command `smstwin explore` of this checkout, in this process or in a child process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { explore } from '#cli/explore/explore.ts';
import { runSubcommand } from '#cli/process.ts';
import { newIo } from '../testkit/io-fixture.ts';
import { loader, program } from '../testkit/processes/program.ts';

export const clientPath = (name: string) =>
  fileURLToPath(new URL(`./clients/${name}`, import.meta.url));

export interface Explored {
  readonly exitCode: number | null;
  readonly out: string;
  readonly error: string;
}

/** In this process: its start would take more CPU than most explorations. */
export async function runExplore(argv: readonly string[]): Promise<Explored> {
  const { io, texts } = newIo();
  const ofProcess = { ...io, env: process.env };
  const exitCode = await runSubcommand('explore', explore, argv, ofProcess);
  return { exitCode, out: texts.out, error: texts.error };
}

/** In a child process, for tests of signals. Calls `use` with it as soon as it has started. */
export async function runExploreProcess(
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
