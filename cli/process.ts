/**
 * Connects a subcommand with its process: streams and environment, errors and exit codes, signals.
 */
import { once } from 'node:events';
import { fstatSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { CommandError, onStopSignal, printedError } from '#io/command-error.ts';
import type { CommandIo } from '#io/flags.ts';
import { smstwinVersion } from '#io/shipped-files.ts';
import { coloured, foreignJson, foreignText, isColourTerminal } from '#io/terminal.ts';
import type { logModes } from '#src/config/settings.ts';

// Node 22.8 and later keep compiled code between runs. The types are those of Node 20.
(nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();

export function processIo(): CommandIo {
  return {
    out: printerTo(process.stdout, 'standard output'),
    error: printerTo(process.stderr, 'standard error'),
    env: process.env,
    version: smstwinVersion(),
  };
}

/** If a text is lost, the process says so once, and its exit code is not 0. */
function printerTo(
  stream: NodeJS.WriteStream & { readonly fd: number },
  name: string,
): (text: string) => void {
  let isBroken = false;
  const onError = ({ code }: NodeJS.ErrnoException) => {
    // The reader of a pipe may close it early, as `head` does, and a terminal may be closed.
    if (!isBroken && code !== 'EPIPE' && !stream.isTTY) {
      process.stderr.write(`smstwin: cannot write to ${name} (${code}); is the disk full?\n`);
      process.once('exit', () => {
        process.exitCode ||= 1;
      });
    }
    isBroken = true;
  };
  stream.on('error', onError);
  if (isColourTerminal(stream)) return (text) => void stream.write(coloured(text));
  if (!fstatSync(stream.fd).isFile()) return (text) => void stream.write(text);
  return (text) => {
    try {
      // The stream would lose the rest of a text of which the disk takes only a part.
      writeFileSync(stream.fd, text);
    } catch (error) {
      onError(error as NodeJS.ErrnoException);
    }
  };
}

export type Subcommand = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** Returns the exit code of a subcommand. Prints its error, or the stack of a bug. */
export async function runSubcommand(
  name: string,
  run: Subcommand,
  argv: readonly string[],
  io: CommandIo,
): Promise<number> {
  try {
    return await run(argv, io);
  } catch (error) {
    if (error instanceof CommandError) {
      io.error(printedError(name, error));
      return error.exitCode;
    }
    const notice = noticesTo(io, `smstwin ${name}`.trim());
    if (error instanceof Error && 'code' in error && error.code === 'EMFILE') {
      notice('too many open files; raise the limit, as with ulimit -n 1024');
      return 1;
    }
    for (const line of stackOf(error)) notice(line);
    return 1;
  }
}

/** Returns a function that prints a line with this prefix, with foreign text in it made safe. */
export function noticesTo(io: Pick<CommandIo, 'error'>, prefix: string): (line: string) => void {
  return (line) => io.error(`${prefix}: ${foreignText(line)}\n`);
}

/** Returns a function that prints a line with the real time, in the format of the log. */
export function timedNoticesTo(io: Pick<CommandIo, 'error'>, log: (typeof logModes)[number]) {
  const toText = noticesTo(io, 'smstwin');
  return (notice: string) => {
    const time = new Date().toISOString();
    if (log !== 'json') toText(`${time} ${notice}`);
    else io.error(`${foreignJson(JSON.stringify({ time, notice }))}\n`);
  };
}

export function stackOf(error: unknown): readonly string[] {
  return String(error instanceof Error ? (error.stack ?? error.message) : error).split('\n');
}

/** `stopped` resolves at the first signal or call of `stop`; a second signal exits at once. */
export function stopSignal(): { readonly stopped: Promise<void>; readonly stop: () => void } {
  const stopping = new AbortController();
  const stop = () => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  };
  onStopSignal(stop);
  const stopped = once(stopping.signal, 'abort').then(() => {});
  return { stopped, stop };
}

interface Closing {
  /** After this time the process exits even if unfinished. */
  readonly withinMs?: number;
  /** Takes a line at the begin and at the end. */
  readonly lifecycle?: (line: string) => void;
}

/** Waits for `stopped` and closes. */
export async function closeAtStop(
  stopped: Promise<void>,
  close: () => Promise<void>,
  { withinMs = 4_500, lifecycle = () => {} }: Closing = {},
): Promise<number> {
  await stopped;
  lifecycle('stopping: requests in flight are finished, and no others accepted');
  setTimeout(() => process.exit(), withinMs).unref();
  await close();
  lifecycle('stopped');
  return 0;
}
