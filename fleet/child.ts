/**
 * A child process of the fleet: HAProxy or a shard. On Linux the kernel ends it with the fleet,
 * even if the fleet is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { listenError } from '#src/http/transport/listening.ts';
import { pause } from './ask.ts';

export interface ChildOptions {
  readonly file: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Gets each line that it writes to stderr. */
  readonly onLine?: (line: string) => void;
}

const pauseMs = 10;

export class Child {
  readonly #process: ChildProcess;
  /** Resolves to how it ended: the signal, the exit code or the error of its start. */
  readonly ended: Promise<string>;
  hasEnded = false;
  /** The last line that it wrote to stderr. */
  lastLine: string | undefined;

  constructor({ file, argv, env, onLine }: ChildOptions) {
    const setprivArgv = ['--pdeathsig', 'KILL', '--', file, ...argv];
    this.#process = spawn(hasDeathSignal ? 'setpriv' : file, hasDeathSignal ? setprivArgv : argv, {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      // A signal of the terminal reaches the fleet, which then stops its children in order.
      detached: true,
    });
    this.ended = new Promise((resolve) => {
      const end = (reason: string) => {
        this.hasEnded = true;
        resolve(reason);
      };
      this.#process.once('error', (error) => end(error.message));
      this.#process.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
    const { stderr } = this.#process;
    if (stderr === null) return;
    createInterface({ input: stderr }).on('line', (line) => {
      this.lastLine = line;
      onLine?.(line);
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.hasEnded) this.#process.kill(name);
  }

  /** Resolves once `isReady` holds; otherwise kills the process, and resolves to how it ended. */
  async until(
    isReady: () => boolean | Promise<boolean>,
    withinMs: number,
  ): Promise<string | undefined> {
    const untilMs = performance.now() + withinMs;
    while (!(await isReady())) {
      if (this.hasEnded || performance.now() > untilMs) {
        this.signal('SIGKILL');
        return this.ended;
      }
      await pause(pauseMs);
    }
    return undefined;
  }

  /** Sends this signal, waits for the end of the process, and kills it after `graceMs`. */
  async stop(name: NodeJS.Signals, graceMs: number): Promise<void> {
    this.signal(name);
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs);
    await this.ended;
    clearTimeout(timer);
  }
}

/** True if a process can end with its parent. Elsewhere, a killed fleet leaves its children. */
const hasDeathSignal = process.platform === 'linux';

/**
 * Finds a port for a process to bind later: `port` if it is free, or any free one for 0. Throws a
 * PortInUseError.
 */
export function freePort(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(listenError(error, port, host)));
    probe.listen(port, host, () => {
      const address = probe.address();
      const boundPort = typeof address === 'object' && address !== null ? address.port : port;
      probe.close(() => resolve(boundPort));
    });
  });
}
