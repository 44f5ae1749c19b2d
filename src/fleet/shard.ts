/**
 * One shard: a `serve` process that is started again when it ends, or one that runs elsewhere
 * (`--join`). Operations wait while it starts.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { CommandError, UsageError } from '../commands/command-error.ts';
import { reasonOf } from '../config/plain-file.ts';
import type { ReadyFile } from '../operations/ready-numbers.ts';
import { type OperationName, type OperationTable, routeOf } from '../operations/table.ts';
import { firstWorldId } from '../worlds/worlds.ts';
import { type Answer, type Asked, ask, open, pause, Unanswered } from './ask.ts';
import { Child, type ChildOptions, freePort } from './child.ts';
import { shardName } from './haproxy-config.ts';

/** What the ready file of a shard says, which has a control port. */
type Ready = ReadyFile & { readonly control_url: string };

/** Where a shard listens that runs elsewhere. */
export type JoinedShard = Pick<Ready, 'base_url' | 'control_url'>;

export interface ShardOptions {
  readonly index: number;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly notice: (line: string) => void;
}

/** How a process of this shard is started. */
interface Launch extends ChildOptions {
  /** For its ready file. */
  readonly folder: string;
}

/** `resuming`: it listens, and the fleet brings it up to date. */
export type ShardState = 'starting' | 'resuming' | 'ready' | 'silent' | 'stopped';

/** Why a shard does not answer any longer. */
export const stopping = 'the fleet is stopping';

export class ShardUnavailable extends Error {
  /** True if the shard ended after it may have read the request. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, mayHaveHappened = false) {
    super(message);
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** What an operation answers. */
export type ReplyOf<Name extends OperationName> = OperationTable[Name]['reply'];

const startWithinMs = 600_000;
const pauseMs = 10;
const restartPauseMs = 500;
const stopWithinMs = 4_500;
const silentAfterMs = 2_000;
const loopback = '127.0.0.1';
const mostStarts = 3;
/** The exit code of `serve` for a port in use. */
const portInUse = 3;

export class Shard {
  readonly index: number;
  readonly #options: ShardOptions;
  readonly #launch: Launch | undefined;
  #child: Child | undefined;
  #ready: Ready;
  /** Its ports, which HAProxy and the fleet keep when it starts again. */
  #ports: readonly string[] = [];
  /** Where HAProxy reaches it. */
  #address = '';
  #state: ShardState = 'starting';
  #isStopping = false;
  /** Called when the process has ended, and again when it runs again, before it counts as ready. */
  onEnded: () => Promise<void> = async () => {};
  onAgain: () => Promise<void> = async () => {};

  private constructor(options: ShardOptions, ready: Ready, launch?: Launch) {
    this.index = options.index;
    this.#options = options;
    this.#ready = ready;
    this.#launch = launch;
  }

  static async start(options: ShardOptions, launch: Launch): Promise<Shard> {
    const unknown = { base_url: '', control_url: '', pid: 0, seed: 0, accounts: [], pool: [] };
    const shard = new Shard(options, unknown, launch);
    await shard.#startOnFreePorts();
    shard.#state = 'ready';
    void shard.#watch();
    return shard;
  }

  /** A process that runs elsewhere. */
  static async join(options: ShardOptions, urls: JoinedShard): Promise<Shard> {
    const shard = new Shard(options, { ...urls, pid: 0, seed: 0, accounts: [], pool: [] });
    shard.#address = new URL(urls.base_url).host;
    try {
      await shard.#readJoined(urls);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const why = `${urls.control_url} cannot be joined (${reasonOf(error)})`;
      throw new CommandError(3, `${why}: start this shard first, or correct its URL in the list`);
    }
    shard.#state = 'ready';
    return shard;
  }

  async #readJoined(urls: JoinedShard): Promise<void> {
    const { accounts, pool } = await this.#read('worlds.get', firstWorldId);
    const { seed } = await this.#read('simulator.state');
    this.#ready = { ...this.#ready, accounts, pool, seed };
    const { clientIp } = await this.#read('assumptions.get');
    if (clientIp !== 'x_forwarded_for') {
      throw new UsageError(`${urls.base_url}: start it with --trust-proxy`);
    }
  }

  get name(): string {
    return shardName(this.index);
  }

  get state(): ShardState {
    return this.#state;
  }

  get ready(): Ready {
    return this.#ready;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get address(): string {
    return this.#address;
  }

  /**
   * Asks its control port. A request that was not read is repeated until the shard is there; one
   * that may have been is only if it changes nothing. Throws a ShardUnavailable.
   */
  async ask(asked: Asked): Promise<Answer> {
    return this.#untilThere(asked, (own) => ask(this.#ready.control_url, own));
  }

  async open(asked: Asked, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#untilThere(asked, (own) => open(this.#ready.control_url, own, signal));
  }

  /** Reads what an operation shows. */
  async read<Name extends OperationName>(name: Name): Promise<ReplyOf<Name>> {
    return replyIn(name, await this.ask(routeOf(name)));
  }

  /** As `read`, while it does not count as ready. */
  async #read<Name extends OperationName>(name: Name, id?: string): Promise<ReplyOf<Name>> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    return replyIn(name, await this.askNow(routeOf(name, id), signal));
  }

  /** Asks it while it does not count as ready. */
  askNow(asked: Asked, signal?: AbortSignal): Promise<Answer> {
    return ask(this.#ready.control_url, this.#withToken(asked), signal);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#state = 'stopped';
    await this.#child?.stop('SIGTERM', stopWithinMs);
  }

  /** Notes whether it answers. */
  async check(): Promise<void> {
    if (this.#state !== 'ready' && this.#state !== 'silent') return;
    const signal = AbortSignal.timeout(silentAfterMs);
    let answers = true;
    try {
      await this.askNow(routeOf('clock.state'), signal);
    } catch {
      answers = false;
    }
    const { notice, index } = this.#options;
    if (!answers && this.#state === 'ready') {
      this.#state = 'silent';
      notice(`shard ${index} does not answer; its requests wait`);
    } else if (answers && this.#state === 'silent') {
      this.#state = 'ready';
      notice(`shard ${index} answers again`);
    }
  }

  async #untilThere<T>(asked: Asked, act: (own: Asked) => Promise<T>): Promise<T> {
    const until = performance.now() + this.#options.timeoutMs;
    for (;;) {
      try {
        await this.#started(until);
        return await act(this.#withToken(asked));
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        const mayRepeat = !error.isSent || asked.method === 'GET';
        if (mayRepeat && performance.now() < until && !this.#isStopping) await pause(pauseMs);
        else {
          const end = this.#isStopping ? `${stopping}: ` : '';
          const message = `${end}shard ${this.index} ended during this operation: it may have happened`;
          throw new ShardUnavailable(error.isSent ? message : this.#late, error.isSent);
        }
      }
    }
  }

  get #late(): string {
    if (this.#isStopping) return stopping;
    return `shard ${this.index} did not come back within ${this.#options.timeoutMs} ms`;
  }

  /** Waits while it starts again, until the fleet has brought it up to date. */
  async #started(until: number): Promise<void> {
    if (this.#state !== 'starting') return;
    const isThere = () => this.#state !== 'starting' && this.#state !== 'resuming';
    while (!isThere()) {
      if (performance.now() > until) throw new ShardUnavailable(this.#late);
      await pause(pauseMs);
    }
  }

  #withToken(asked: Asked): Asked {
    const { token } = this.#options;
    if (token === undefined) return asked;
    return { ...asked, headers: { ...asked.headers, authorization: `Bearer ${token}` } };
  }

  /** The shard says the fleet's base URL and not its own, so its ports are chosen here. */
  async #startOnFreePorts(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const [port, control] = [await freePort(0, loopback), await freePort(0, loopback)];
      this.#ports = ['--port', `${port}`, '--control-port', `${control}`];
      this.#address = `${loopback}:${port}`;
      try {
        return await this.#start();
      } catch (error) {
        const isTaken = error instanceof CommandError && error.exitCode === portInUse;
        if (!isTaken || attempt === mostStarts) throw error;
      }
    }
  }

  async #start(): Promise<void> {
    const launch = this.#launch;
    if (launch === undefined) return;
    const readyFile = join(launch.folder, `${this.name}.json`);
    rmSync(readyFile, { force: true });
    const child = new Child({
      ...launch,
      argv: [...launch.argv, ...this.#ports, '--ready-file', readyFile],
      onLine: (line) => {
        if (this.#state === 'ready') launch.onLine?.(line);
      },
    });
    this.#child = child;
    const how = await child.until(() => existsSync(readyFile), startWithinMs);
    if (how !== undefined) {
      const code = Number(/^exit code (\d+)$/.exec(how)?.[1] ?? 1);
      const why = (child.lastLine ?? how).replace(/^smstwin serve: /, '');
      throw new CommandError(code, `shard ${this.index}: ${why}`);
    }
    this.#ready = JSON.parse(readFileSync(readyFile, 'utf8')) as Ready;
    rmSync(readyFile, { force: true });
  }

  /** Starts it again, on its ports, whenever it ends. */
  async #watch(): Promise<void> {
    for (;;) {
      const how = await this.#child?.ended;
      if (this.#isStopping) return;
      this.#state = 'starting';
      const { notice, index, timeoutMs } = this.#options;
      notice(
        `shard ${index} ended (${how}); its requests wait up to ${timeoutMs} ms for its return`,
      );
      await this.onEnded();
      while (!(await this.#startedAgain()) && !this.#isStopping) await pause(restartPauseMs);
      if (this.#isStopping) return;
      this.#state = 'resuming';
      await this.onAgain();
      this.#state = 'ready';
      notice(`shard ${index} runs again`);
    }
  }

  async #startedAgain(): Promise<boolean> {
    try {
      await this.#start();
      return true;
    } catch (error) {
      this.#options.notice(error instanceof Error ? error.message : String(error));
      return false;
    }
  }
}

function replyIn<Name extends OperationName>(name: Name, { status, body }: Answer): ReplyOf<Name> {
  if (status === 200) return JSON.parse(body) as ReplyOf<Name>;
  throw new CommandError(1, `${name} was answered ${status}: ${body.slice(0, 300)}`);
}
