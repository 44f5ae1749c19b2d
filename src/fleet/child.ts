/**
 * A child process of the fleet: HAProxy, or a shard. It ends with the fleet, however that ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  readonly file: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Gets each line that it writes to stderr. */
  readonly onLine: (line: string) => void;
}

/** Its end, as a log names it. */
export type Ending = string;

export class Child {
  readonly #process: ChildProcess;
  readonly ended: Promise<Ending>;
  hasEnded = false;

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
      const end = (how: Ending) => {
        this.hasEnded = true;
        resolve(how);
      };
      this.#process.once('error', (error) => end(error.message));
      this.#process.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
    const { stderr } = this.#process;
    if (stderr !== null) createInterface({ input: stderr }).on('line', onLine);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.hasEnded) this.#process.kill(name);
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
