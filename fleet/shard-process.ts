/**
 * The process of a shard: starts `smstwin serve` on free ports, and again on the same ones. A start
 * rejects with a CommandError that has the exit code of the process.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '#io/command-error.ts';
import type { ReadyFile } from '#src/operations/worlds/world-view.ts';
import { Child, type ChildOptions, freePort } from './child.ts';
import { shardName } from './haproxy-config.ts';

/** The ready file of a shard, which always has a control port. */
export type Ready = ReadyFile & { readonly control_url: string };

/** How to start a process of this shard. */
export interface Launch extends ChildOptions {
  /** The folder for its ready file. */
  readonly folder: string;
}

const startWithinMs = 600_000;
const stopWithinMs = 4_500;
const loopback = '127.0.0.1';
/** How often a start tries other free ports: another process may take them first. */
const mostStarts = 3;
/** The exit code of `serve` for a port in use. */
const portInUse = 3;

export class ShardProcess {
  readonly #index: number;
  readonly #launch: Launch;
  #child: Child | undefined;
  /** The flags of its ports, which stay the same when it starts again. */
  #portFlags: readonly string[] = [];
  #address = '';

  constructor(index: number, launch: Launch) {
    this.#index = index;
    this.#launch = launch;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** The host and port of the service. */
  get address(): string {
    return this.#address;
  }

  /** Resolves to how the process that was started last has ended. */
  get ended(): Promise<string> | undefined {
    return this.#child?.ended;
  }

  /** Chooses the ports, as the ready file of a shard names the fleet's base URL, not its own. */
  async startOnFreePorts(): Promise<Ready> {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort(0, loopback);
      const controlPort = await freePort(0, loopback);
      this.#portFlags = ['--port', `${port}`, '--control-port', `${controlPort}`];
      this.#address = `${loopback}:${port}`;
      try {
        return await this.start();
      } catch (error) {
        const isPortTaken = error instanceof CommandError && error.exitCode === portInUse;
        if (!isPortTaken || attempt === mostStarts) throw error;
      }
    }
  }

  async start(): Promise<Ready> {
    const launch = this.#launch;
    const readyFile = join(launch.folder, `${shardName(this.#index)}.json`);
    rmSync(readyFile, { force: true });
    const child = new Child({
      ...launch,
      argv: [...launch.argv, ...this.#portFlags, '--ready-file', readyFile],
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

  async stop(): Promise<void> {
    await this.#child?.stop('SIGTERM', stopWithinMs);
  }
}
