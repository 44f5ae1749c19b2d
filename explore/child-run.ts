/** Runs the client's command once, in a process group of which nothing is left at its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { firstLine, UsageError } from '#io/command-error.ts';
import { type Ending, SearchStopped } from './client-run.ts';

export interface ChildOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How long a run may take, on the real clock. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called at the start with a function that kills the command's processes. */
  readonly onStart: (kill: () => void) => void;
}

/** The bytes that are kept of the start and of the end of the output. */
const keptBytes = 8_192;
/** The lines of each that a report shows. */
const firstLines = 5;
const lastLines = 15;
/** How long output may still arrive after the process has exited. */
const longestDrainMs = 500;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) endGroup(child);
});

/** Throws a SearchStopped if it is interrupted, and a UsageError if the command cannot be run. */
export async function runChild(options: ChildOptions): Promise<Ending> {
  const { command, env, timeoutMs, signal, onStart } = options;
  const [file = '', ...argv] = command;
  if (signal.aborted) throw new SearchStopped('interrupted');
  const child = spawnGroup(file, argv, env);
  running.add(child);
  const kill = () => endGroup(child);
  onStart(kill);
  const output = new Output();
  const errors = new Output();
  child.stdout.on('data', (bytes: Buffer) => output.add(bytes));
  child.stderr.on('data', (bytes: Buffer) => {
    output.add(bytes);
    errors.add(bytes);
  });
  const late = AbortSignal.timeout(Math.ceil(timeoutMs));
  const stop = AbortSignal.any([signal, late]);
  stop.addEventListener('abort', kill);
  try {
    const failure = await failureAtExit(child, file);
    kill();
    await drain(child);
    if (signal.aborted) throw new SearchStopped('interrupted');
    if (late.aborted) {
      const how = `the command did not end within ${Math.round(timeoutMs) / 1_000} s (--timeout)`;
      return { kind: 'timeout', how, tail: output.textWith(errors) };
    }
    const kind = failure === undefined ? 'passed' : 'failed';
    return { kind, how: failure ?? '', tail: output.textWith(errors) };
  } finally {
    stop.removeEventListener('abort', kill);
    running.delete(child);
  }
}

/** Throws some errors at once, such as E2BIG; most come as an event later. */
function spawnGroup(file: string, argv: readonly string[], env: ChildOptions['env']) {
  try {
    return spawn(file, argv, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw cannotRun(file, error as NodeJS.ErrnoException);
  }
}

function cannotRun(file: string, { code = '', message }: NodeJS.ErrnoException): UsageError {
  const why = code === 'ENOENT' ? 'there is no such program' : code || firstLine(message);
  return new UsageError(`cannot run ${file}: ${why}`);
}

/** Waits until the process exits. Resolves to how it ended, or to undefined for exit code 0. */
function failureAtExit(child: ChildProcess, file: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(cannotRun(file, error)));
    child.once('exit', (code, signal) => {
      const how = code === null ? `ended by ${signal}` : `exit code ${code}`;
      resolve(code === 0 ? undefined : how);
    });
  });
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No process is left in the group.
  }
}

/** Waits `longestDrainMs` at most for the pipes to close: other processes may hold them. */
async function drain(child: ChildProcess): Promise<void> {
  const signal = AbortSignal.timeout(longestDrainMs);
  await once(child, 'close', { signal }).catch(() => {});
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/** Keeps both ends of an output of any length, without colours and other control characters. */
class Output {
  #start = Buffer.alloc(0);
  #end = Buffer.alloc(0);
  #length = 0;

  add(bytes: Buffer): void {
    const missing = keptBytes - this.#start.length;
    this.#start = Buffer.concat([this.#start, bytes.subarray(0, missing)]);
    this.#end = Buffer.concat([this.#end, bytes.subarray(-keptBytes)]).subarray(-keptBytes);
    this.#length += bytes.length;
  }

  /** The first lines: the message of an error is at the top of its stack. */
  get first(): readonly string[] {
    return linesOf(this.#start).slice(0, firstLines);
  }

  /** All lines of a short output; otherwise its ends, and the first lines of its errors. */
  textWith(errors: Output): string {
    const lines = linesOf(this.#end);
    const isWhole = this.#length === this.#end.length && lines.length <= firstLines + lastLines;
    if (isWhole) return lines.join('\n');
    const last = lines.slice(-lastLines);
    const middle = errors.first.filter(
      (line) => !this.first.includes(line) && !last.includes(line),
    );
    const parts = [this.first, middle, last].filter(({ length }) => length > 0);
    return parts.map((part) => part.join('\n')).join('\n…\n');
  }
}

function linesOf(bytes: Buffer): readonly string[] {
  const text = stripVTControlCharacters(bytes.toString('utf8')).replaceAll('\r\n', '\n');
  const printable = text.replace(/(?![\n\t])\p{Cc}/gu, '\uFFFD');
  return printable.trimEnd().split('\n');
}
