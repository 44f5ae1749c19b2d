/**
 * One shard of a fleet, as the other parts of the fleet ask it: a `serve` process that the fleet
 * starts again whenever it ends, or one that runs elsewhere (`--join`). Requests to its control port
 * wait while it starts.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError, UsageError } from '#io/command-error.ts';
import { reasonOf } from '#io/plain-file.ts';
import {
  type OperationName,
  type OperationTable,
  outputOf,
  routeOf,
} from '#src/operations/table.ts';
import { firstWorldId } from '#src/worlds/worlds.ts';
import {
  ask,
  openReply,
  parseBody,
  type ShardReply,
  type ShardRequest,
  Unanswered,
} from './ask.ts';
import { type Launch, type Ready, ShardProcess } from './child.ts';
import { shardName } from './haproxy-config.ts';

export type JoinedShard = Pick<Ready, 'base_url' | 'control_url'>;

export interface ShardOptions {
  readonly index: number;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly notice: (line: string) => void;
}

/**
 * `starting`: its process ended, and another one starts. `resuming`: the new process listens, and
 * the fleet brings it up to date. `silent`: it runs, but does not answer.
 */
export type ShardState = 'starting' | 'resuming' | 'ready' | 'silent' | 'stopped';

/** The reason in replies to operations that the end of the fleet interrupts. */
export const stopping = 'the fleet is stopping';

/** Thrown if a shard gives no reply: it ended, or it did not come back in time. */
export class ShardUnavailable extends Error {
  /** True if the shard ended after it may have read the request. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, { mayHaveHappened = false } = {}) {
    super(message);
    this.mayHaveHappened = mayHaveHappened;
  }
}

export type ReplyOf<Name extends OperationName> = OperationTable[Name]['reply'];

/** The pause between two checks whether the shard is back. */
const pauseMs = 10;
/** A shard that takes longer to answer is silent. */
const silentAfterMs = 2_000;

export class Shard {
  readonly index: number;
  readonly name: string;
  readonly #options: ShardOptions;
  /** Undefined for a shard that runs elsewhere. */
  #process: ShardProcess | undefined;
  /** Its URLs and what its world has, as its latest process said. */
  ready: Ready;
  #state: ShardState = 'starting';
  #isStopping = false;
  /** How often its process was started again. */
  restarts = 0;
  /** Called when its process has ended, before it is started again. */
  onEnded: () => Promise<void> = async () => {};
  /** Called when it has started again, before it counts as ready. */
  onRestarted: () => Promise<void> = async () => {};

  private constructor(options: ShardOptions, ready: Ready) {
    this.index = options.index;
    this.name = shardName(options.index);
    this.#options = options;
    this.ready = ready;
  }

  /** Resolves once the process answers. Rejects with a CommandError that has its exit code. */
  static async start(options: ShardOptions, launch: Launch): Promise<Shard> {
    const notReadyYet = { base_url: '', control_url: '', pid: 0, seed: 0, accounts: [], pool: [] };
    const shard = new Shard(options, notReadyYet);
    const onLine = (line: string) => {
      if (shard.#state === 'ready') launch.onLine?.(line);
    };
    const process = new ShardProcess(options.index, { ...launch, onLine });
    shard.#process = process;
    shard.ready = await process.startOnFreePorts();
    shard.#state = 'ready';
    void process.keepRunning({
      onEnded: (how) => shard.#hasEnded(how),
      onStarted: (ready) => shard.#hasStarted(ready),
      notice: options.notice,
    });
    return shard;
  }

  /** A shard that runs elsewhere. Rejects with a CommandError if it cannot be a part of a fleet. */
  static async join(options: ShardOptions, urls: JoinedShard): Promise<Shard> {
    const shard = new Shard(options, { ...urls, pid: 0, seed: 0, accounts: [], pool: [] });
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

  get state(): ShardState {
    return this.#state;
  }

  /** 0 for a shard that runs elsewhere. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get address(): string {
    return this.#process?.address ?? new URL(this.ready.base_url).host;
  }

  /**
   * Sends a request to its control port. If the shard ends, sends it again once the shard is back,
   * unless the request may have been read and is not a GET. Throws a ShardUnavailable.
   */
  async ask(request: ShardRequest): Promise<ShardReply> {
    return this.#untilAnswered(request, (authorized) => {
      // A process that does not answer while it is brought up to date is killed and started again.
      const isHurried = this.#state === 'resuming';
      const signal = isHurried ? AbortSignal.timeout(this.#options.timeoutMs) : undefined;
      return ask(this.ready.control_url, authorized, signal);
    });
  }

  /** Like `ask`, but resolves at the head of the reply, so that a stream can be read. */
  async openReply(request: ShardRequest, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#untilAnswered(request, (authorized) =>
      openReply(this.ready.control_url, authorized, signal),
    );
  }

  /** Asks once, without waiting until the shard is ready. Throws an Unanswered. */
  askNow(request: ShardRequest, signal?: AbortSignal): Promise<ShardReply> {
    return ask(this.ready.control_url, this.#withToken(request), signal);
  }

  /** The parsed reply to an operation without input. Throws a CommandError if it is refused. */
  async read<Name extends OperationName>(name: Name): Promise<ReplyOf<Name>> {
    return this.parse(name, await this.ask(routeOf(name)));
  }

  /**
   * The reply to an operation, checked against its declaration: ids in it reach the commands of
   * HAProxy, and a shard that runs elsewhere may be any server. Throws a CommandError.
   */
  parse<Name extends OperationName>(name: Name, { status, body }: ShardReply): ReplyOf<Name> {
    if (status < 300) {
      const { data, error } = outputOf(name).safeParse(parseBody({ body }));
      if (error === undefined) return data as ReplyOf<Name>;
      const where = error.issues[0]?.path.join('.');
      const why = `shard ${this.index} is not a server of smstwin of this version`;
      throw new CommandError(
        3,
        `${why}: its reply to ${name} has an unexpected ${where || 'form'}`,
      );
    }
    throw new CommandError(1, `${name} was answered ${status}: ${body.slice(0, 300)}`);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#state = 'stopped';
    await this.#process?.stop();
  }

  /** Sets the state to `silent` if the shard does not answer, and back to `ready` if it does. */
  async check(): Promise<void> {
    if (this.#state !== 'ready' && this.#state !== 'silent') return;
    const signal = AbortSignal.timeout(silentAfterMs);
    const reply = await this.askNow(routeOf('clock.state'), signal).catch(() => undefined);
    const hasAnswered = reply !== undefined;
    const { notice, index } = this.#options;
    if (!hasAnswered && this.#state === 'ready') {
      this.#state = 'silent';
      notice(`shard ${index} does not answer; its requests wait`);
    } else if (hasAnswered && this.#state === 'silent') {
      this.#state = 'ready';
      notice(`shard ${index} answers again`);
    }
  }

  async #untilAnswered<T>(
    request: ShardRequest,
    send: (authorized: ShardRequest) => Promise<T>,
  ): Promise<T> {
    const untilMs = performance.now() + this.#options.timeoutMs;
    for (;;) {
      try {
        await this.#untilStarted(untilMs);
        return await send(this.#withToken(request));
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        const mayRepeat = !error.isSent || request.method === 'GET';
        const isLate = this.#isStopping || performance.now() >= untilMs;
        const isOver = this.#state === 'resuming' && this.#process?.hasEnded === true;
        if (!mayRepeat || isLate || isOver)
          throw this.#unavailable({ mayHaveHappened: error.isSent });
        await pause(pauseMs);
      }
    }
  }

  #unavailable({ mayHaveHappened }: Pick<ShardUnavailable, 'mayHaveHappened'>): ShardUnavailable {
    if (mayHaveHappened) {
      const cause = this.#isStopping ? `${stopping}: ` : '';
      const message = `${cause}shard ${this.index} ended during this operation: it may have happened`;
      return new ShardUnavailable(message, { mayHaveHappened });
    }
    const late = `shard ${this.index} did not come back within ${this.#options.timeoutMs} ms`;
    return new ShardUnavailable(this.#isStopping ? stopping : late);
  }

  /**
   * While its process starts, waits until the fleet has brought it up to date. A request during
   * `resuming` passes: it is how the fleet does that.
   */
  async #untilStarted(untilMs: number): Promise<void> {
    if (this.#state !== 'starting') return;
    const isDown = () => this.#state === 'starting' || this.#state === 'resuming';
    while (isDown()) {
      if (performance.now() > untilMs) throw this.#unavailable({ mayHaveHappened: false });
      await pause(pauseMs);
    }
  }

  /** Like `read`, without waiting until the shard is ready. */
  async #readNow<Name extends OperationName>(name: Name, id?: string): Promise<ReplyOf<Name>> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    return this.parse(name, await this.askNow(routeOf(name, id), signal));
  }

  #withToken(request: ShardRequest): ShardRequest {
    const { token } = this.#options;
    if (token === undefined) return request;
    return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
  }

  async #readJoined(urls: JoinedShard): Promise<void> {
    const { accounts, pool } = await this.#readNow('worlds.get', firstWorldId);
    const { seed } = await this.#readNow('simulator.state');
    this.ready = { ...this.ready, accounts, pool, seed };
    const { clientIp } = await this.#readNow('assumptions.get');
    if (clientIp !== 'x_forwarded_for')
      throw new UsageError(`${urls.base_url}: start it with --trust-proxy`);
  }

  async #hasEnded(how: string): Promise<void> {
    this.#state = 'starting';
    const { notice, index, timeoutMs } = this.#options;
    notice(`shard ${index} ended (${how}); its requests wait up to ${timeoutMs} ms for its return`);
    await this.onEnded();
  }

  async #hasStarted(ready: Ready): Promise<void> {
    this.ready = ready;
    this.#state = 'resuming';
    try {
      await this.onRestarted();
    } catch (error) {
      this.#state = 'starting';
      throw error;
    }
    this.#state = 'ready';
    this.restarts += 1;
    this.#options.notice(`shard ${this.index} runs again`);
  }
}
