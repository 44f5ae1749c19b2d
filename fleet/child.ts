/**
 * The child processes of the fleet: HAProxy, and `smstwin serve` for each shard. On Linux the
 * kernel ends them with the fleet, even if the fleet is killed.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError } from '#io/command-error.ts';
import { reasonOf } from '#io/plain-file.ts';
import { freePort } from '#src/http/transport/listening.ts';
import type { ReadyFile } from '#src/operations/worlds/world-view.ts';
import { shardName } from './haproxy-config.ts';

export interface ChildOptions {
  readonly file: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
}

/** The time between two looks whether a process is ready. */
const pauseMs = 10;

export class Child {
  readonly #process: ChildProcess;
  /** Resolves to how it ended: the signal, the exit code or the error of its start. */
  readonly ended: Promise<string>;
  hasEnded = false;
  /** The last line that it wrote to stderr. */
  lastLine: string | undefined;

  constructor({ file, argv, env, onLine }: ChildOptions) {
    const options: SpawnOptions = {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      // A signal of the terminal reaches the fleet, which then stops its children in order.
      detached: true,
    };
    this.#process = hasDeathSignal
      ? spawn('setpriv', ['--pdeathsig', 'KILL', '--', file, ...argv], options)
      : spawn(file, argv, options);
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

  /** Waits until it is ready; otherwise kills the process and resolves to how it ended. */
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

/** The ready file of a shard, which always has a control port. */
export type Ready = ReadyFile & { readonly control_url: string };

/** `argv`: the start of the command line, to which the process adds what every shard needs. */
export interface Launch extends ChildOptions {
  readonly folder: string;
}

/** A start may restore a long journal. */
const startWithinMs = 600_000;
const stopWithinMs = 4_500;
const loopback = '127.0.0.1';
/** A shard can trust the header `X-Forwarded-For`, because HAProxy overwrites it. */
const flagsOfEach = ['--host', loopback, '--control-host', loopback, '--trust-proxy'];
/** How many pairs of free ports a start tries: another process may take them first. */
const mostStarts = 3;
/** The exit code of `serve` for a port in use. */
const portInUse = 3;
/** The time from a failed start to the next one. */
const restartPauseMs = 500;

/** What to do when a process ends, and when the next one listens. */
export interface Restart {
  /** `how`: the signal, the exit code or the error of its start. */
  readonly onEnded: (how: string) => Promise<void>;
  /** Brings the new process up to date. If it rejects, the process is killed. */
  readonly onStarted: (ready: Ready) => Promise<void>;
  /** Gets the reason of each start that fails. */
  readonly notice: (line: string) => void;
}

export class ShardProcess {
  readonly #index: number;
  readonly #launch: Launch;
  #child: Child | undefined;
  #isStopping = false;
  /** The flags of its ports, which stay the same when it starts again. */
  #portFlags: readonly string[] = [];
  /** The host and port of the service. */
  address = '';

  constructor(index: number, launch: Launch) {
    this.#index = index;
    this.#launch = launch;
  }

  /**
   * Starts the process on ports that it chooses itself: the ready file of a shard does not show
   * them, because it names the base URL of the fleet.
   */
  async startOnFreePorts(): Promise<Ready> {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort(0, loopback);
      let controlPort = port;
      // A port that is free may be given again.
      while (controlPort === port) controlPort = await freePort(0, loopback);
      this.#portFlags = ['--port', `${port}`, '--control-port', `${controlPort}`];
      this.address = `${loopback}:${port}`;
      try {
        return await this.start();
      } catch (error) {
        const isPortTaken = error instanceof CommandError && error.exitCode === portInUse;
        if (!isPortTaken || attempt === mostStarts) throw error;
      }
    }
  }

  /** Starts the process. Rejects with a CommandError that has its exit code. */
  async start(): Promise<Ready> {
    const launch = this.#launch;
    const readyFile = join(launch.folder, `${shardName(this.#index)}.json`);
    rmSync(readyFile, { force: true });
    const child = new Child({
      ...launch,
      argv: [...launch.argv, ...flagsOfEach, ...this.#portFlags, '--ready-file', readyFile],
      onLine: (line) => launch.onLine?.(this.#named(line)),
    });
    this.#child = child;
    const end = await child.until(() => existsSync(readyFile), startWithinMs);
    if (end !== undefined) {
      const code = Number(/^exit code (\d+)$/.exec(end)?.[1] ?? 1);
      const why = (child.lastLine ?? end).replace(/^smstwin serve: /, '');
      throw new CommandError(code, `shard ${this.#index}: ${why}`);
    }
    const ready = JSON.parse(readFileSync(readyFile, 'utf8')) as Ready;
    rmSync(readyFile, { force: true });
    return ready;
  }

  /**
   * Starts the process again whenever it ends, until `stop`. Never rejects: whatever fails becomes
   * a notice, because the other shards go on.
   */
  async keepRunning({ onEnded, onStarted, notice }: Restart): Promise<void> {
    const succeeds = async (act: () => Promise<void>) => {
      try {
        await act();
        return true;
      } catch (error) {
        if (!this.#isStopping) notice(reasonOf(error));
        return false;
      }
    };
    const startAgain = async () => {
      const ready = await this.start();
      if (!this.#isStopping) await onStarted(ready);
    };
    for (;;) {
      const how = (await this.#child?.ended) ?? '';
      if (this.#isStopping) return;
      await succeeds(() => onEnded(how));
      while (!this.#isStopping && !(await succeeds(startAgain))) {
        await this.#child?.stop('SIGKILL', 0);
        await pause(restartPauseMs);
      }
    }
  }

  /** True if no process runs. */
  get hasEnded(): boolean {
    return this.#child?.hasEnded !== false;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#child?.stop('SIGTERM', stopWithinMs);
  }

  /** The line with the index of the shard; lines of `--log json` are objects. */
  #named(line: string): string {
    const named = line.replace(/^smstwin: /, `smstwin: shard ${this.#index}: `);
    return named.replace(/^\{/, `{"shard":${this.#index},`);
  }
}
