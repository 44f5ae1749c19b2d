/**
 * For tests and long runs: `smstwin serve`, or a fleet, in a child process on free ports. A probe
 * in the process (`probe.ts`) reports its resources.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadyFile } from '#src/simulator.ts';
import type { Holdings } from './probe.ts';
import { loader, probe, program } from './program.ts';

const startWithinMs = 60_000;
const answerWithinMs = 30_000;
const stdio = ['ignore', 'ignore', 'pipe'] as const;
let starts = 0;

export interface Ended {
  /** The exit code; null if a signal ended the process. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class ServedProcess {
  readonly #child: ChildProcess;
  /** Resolves when the process has ended for any reason. */
  readonly ended: Promise<Ended>;
  #ready: ReadyFile | undefined;
  #errors = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
  }

  /**
   * Starts `smstwin serve`; resolves once both ports listen. `folder`: for its ready file.
   * `preloaded`: one more module that the process imports first.
   */
  static start(
    folder: string,
    flags: readonly string[] = [],
    preloaded: string = probe,
  ): Promise<ServedProcess> {
    const execArgv = ['--expose-gc', ...loader, '--import', probe, '--import', preloaded];
    return ServedProcess.#start(folder, (ports) =>
      fork(program, ['serve', ...ports, ...flags], { execArgv, stdio: [...stdio, 'ipc'] }),
    );
  }

  /** Starts `smstwin fleet`, without the probe. `env`: further environment variables. */
  static startFleet(
    folder: string,
    flags: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<ServedProcess> {
    const options = { env: { ...process.env, ...env }, execArgv: loader };
    return ServedProcess.#start(folder, (ports) =>
      fork(program, ['fleet', ...ports, ...flags], { ...options, stdio: [...stdio, 'ipc'] }),
    );
  }

  /** Starts a server by a command line as users type it, without the probe. */
  static startCommand(folder: string, line: string, cwd: string): Promise<ServedProcess> {
    return ServedProcess.#start(folder, (ports) =>
      spawn('sh', ['-c', `exec ${line} ${ports.join(' ')}`], { cwd, stdio: [...stdio] }),
    );
  }

  static async #start(
    folder: string,
    launch: (ports: readonly string[]) => ChildProcess,
  ): Promise<ServedProcess> {
    starts += 1;
    const readyFile = join(folder, `ready-${process.pid}-${starts}.json`);
    const ports = ['--port', '0', '--control-port', '0', '--ready-file', readyFile];
    const served = new ServedProcess(launch(ports));
    const deadlineMs = performance.now() + startWithinMs;
    while (!existsSync(readyFile)) {
      if (served.hasEnded || performance.now() > deadlineMs) {
        await served.kill();
        throw new Error(`the process did not start: ${served.errors}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    served.#ready = JSON.parse(readFileSync(readyFile, 'utf8')) as ReadyFile;
    rmSync(readyFile);
    return served;
  }

  get ready(): ReadyFile {
    if (this.#ready === undefined) throw new Error('the process has not started');
    return this.#ready;
  }

  get baseUrl(): string {
    return this.ready.base_url;
  }

  get controlUrl(): string {
    return this.ready.control_url ?? '';
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get errors(): string {
    return this.#errors;
  }

  /** Why the process can no longer be used: it has ended, or has written to stderr; or undefined. */
  complaint(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    if (this.hasEnded) return `the server ended with ${exitCode ?? signalCode}: ${this.errors}`;
    return this.errors === '' ? undefined : this.errors;
  }

  /** Sends a signal to the server itself, not to a shell or npm in front of it. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#ready ?? this.#child;
    if (pid === undefined || pid === this.#child.pid) this.#child.kill(signal);
    else process.kill(pid, signal);
  }

  async stop(): Promise<Ended> {
    if (!this.hasEnded) this.signal('SIGTERM');
    return this.ended;
  }

  async kill(): Promise<Ended> {
    if (!this.hasEnded) this.signal('SIGKILL');
    return this.ended;
  }

  holdings(): Promise<Holdings> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the probe is silent')), answerWithinMs);
      this.#child.once('message', (holdings) => {
        clearTimeout(timer);
        resolve(holdings as Holdings);
      });
      this.#child.send('holdings');
    });
  }

  /** The resources once the process's handles no longer change. */
  async settledHoldings(): Promise<Holdings> {
    let previous = await this.holdings();
    for (;;) {
      const current = await this.holdings();
      if (handlesOf(current) === handlesOf(previous)) return current;
      previous = current;
    }
  }
}

/** Handles and open files as text, for comparison. */
export function handlesOf({ resources, descriptors }: Holdings): string {
  const kinds = Object.entries(resources).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify({ resources: Object.fromEntries(kinds), descriptors });
}
