/**
 * A child process of the fleet: HAProxy, or a shard. It ends with the fleet, however that ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { listenError } from '../http/transport/transport.ts';
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
  /** How it ended, as a log names it. */
  readonly ended: Promise<string>;
  hasEnded = false;
  /** What it wrote last to stderr. */
  lastLine: string | undefined;

  constructor({ file, argv, env, onLine }: ChildOptions) {
    // Linux ends the child with this process, even if a SIGKILL ends this one.
    const bound = ['--pdeathsig', 'KILL', '--', file, ...argv];
    this.#process = spawn(isBindable ? 'setpriv' : file, isBindable ? bound : argv, {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      // A signal of the terminal reaches the fleet, which then stops its children in order.
      detached: true,
    });
    this.ended = new Promise((resolve) => {
      const end = (how: string) => {
        this.hasEnded = true;
        resolve(how);
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

  /** Resolves once it is there. Otherwise kills it, and resolves to how it ended. */
  async until(
    isThere: () => boolean | Promise<boolean>,
    withinMs: number,
  ): Promise<string | undefined> {
    const until = performance.now() + withinMs;
    while (!(await isThere())) {
      if (this.hasEnded || performance.now() > until) {
        this.signal('SIGKILL');
        return this.ended;
      }
      await pause(pauseMs);
    }
    return undefined;
  }

  /** Asks it to end by this signal, and kills it after `graceMs`. */
  async stop(name: NodeJS.Signals, graceMs: number): Promise<void> {
    this.signal(name);
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Other systems than Linux have no such signal: there, a killed fleet leaves its children. */
const isBindable = process.platform === 'linux';

/**
 * A port for a process that is started next, which binds it itself: the port that is given, or any
 * free one for 0. Throws a PortInUseError.
 */
export function freePort(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(listenError(error, port, host)));
    probe.listen(port, host, () => {
      const address = probe.address();
      const found = typeof address === 'object' && address !== null ? address.port : port;
      probe.close(() => resolve(found));
    });
  });
}
