/**
 * One shard of a fleet, as the other parts of the fleet ask it. Requests to its control port wait
 * while its process starts.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError } from '#io/command-error.ts';
import {
  type OperationName,
  type OperationTable,
  outputOf,
  routeOf,
} from '#src/operations/table.ts';
import {
  ask,
  openReply,
  parseBody,
  type ShardReply,
  type ShardRequest,
  Unanswered,
} from './ask.ts';
import type { Ready } from './child.ts';
import { shardName } from './haproxy-config.ts';

export interface ShardOptions {
  readonly index: number;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly notice: (line: string) => void;
}

/**
 * `starting`: its process starts. `resuming`: it listens, and the fleet brings it up to date by
 * requests of its own, while others wait. `silent`: it runs, but does not answer.
 */
export type ShardState = 'starting' | 'resuming' | 'ready' | 'silent' | 'stopped';

/** What is known of the process of a shard. Its supervisor alone changes it. */
export interface ShardLife {
  readonly state: ShardState;
  /** Its URLs and what its world has, as its latest process said. */
  readonly ready: Ready;
  /** 0 for a shard that runs elsewhere. */
  readonly pid: number;
  /** How often its process was started again. */
  readonly restarts: number;
  /** True if the process has ended. */
  readonly hasEnded: boolean;
}

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

export class Shard {
  readonly index: number;
  readonly name: string;
  readonly life: ShardLife;
  readonly #options: ShardOptions;

  constructor(options: ShardOptions, life: ShardLife) {
    this.index = options.index;
    this.name = shardName(options.index);
    this.life = life;
    this.#options = options;
  }

  /**
   * Sends a request to its control port. If the shard ends, sends it again once the shard is back,
   * unless the request may have been read and is not a GET. Throws a ShardUnavailable.
   */
  async ask(request: ShardRequest): Promise<ShardReply> {
    return this.#untilAnswered(request, (authorized) => {
      // A process that does not answer while it is brought up to date is killed and started again.
      const mustAnswerSoon = this.life.state === 'resuming';
      const signal = mustAnswerSoon ? AbortSignal.timeout(this.#options.timeoutMs) : undefined;
      return ask(this.life.ready.control_url, authorized, signal);
    });
  }

  /** Like `ask`, but resolves at the head of the reply, so that a stream can be read. */
  async openReply(request: ShardRequest, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#untilAnswered(request, (authorized) =>
      openReply(this.life.ready.control_url, authorized, signal),
    );
  }

  /** Asks once, without waiting until the shard is ready. Throws an Unanswered. */
  askNow(request: ShardRequest, signal?: AbortSignal): Promise<ShardReply> {
    return ask(this.life.ready.control_url, this.#withToken(request), signal);
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

  /** Like `read`, without waiting until the shard is ready. */
  async readNow<Name extends OperationName>(name: Name, id?: string): Promise<ReplyOf<Name>> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    return this.parse(name, await this.askNow(routeOf(name, id), signal));
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
        // `resuming` ends only once the requests that resume the shard have failed.
        const hasEndedAgain = this.life.state === 'resuming' && this.life.hasEnded;
        if (!mayRepeat || isLate || hasEndedAgain)
          throw this.#unavailable({ isSent: error.isSent, isChange: request.method !== 'GET' });
        await pause(pauseMs);
      }
    }
  }

  /** `isSent`: the shard may have read the request. */
  #unavailable({ isSent, isChange = false }: { isSent: boolean; isChange?: boolean }) {
    const late = `shard ${this.index} did not come back within ${this.#options.timeoutMs} ms`;
    const ended = `shard ${this.index} ended during this operation: it may have happened`;
    const reasons = [
      ...(this.#isStopping ? [stopping] : []),
      ...(isSent && isChange ? [ended] : []),
    ];
    return new ShardUnavailable(reasons.join(': ') || late, { mayHaveHappened: isSent });
  }

  /**
   * A request that comes while the process starts waits until the fleet has brought it up to date.
   * One that comes during `resuming` passes, as the fleet itself sends it for that.
   */
  async #untilStarted(untilMs: number): Promise<void> {
    if (this.life.state !== 'starting') return;
    const isDown = () => this.life.state === 'starting' || this.life.state === 'resuming';
    while (isDown()) {
      if (performance.now() > untilMs) throw this.#unavailable({ isSent: false });
      await pause(pauseMs);
    }
  }

  get #isStopping(): boolean {
    return this.life.state === 'stopped';
  }

  #withToken(request: ShardRequest): ShardRequest {
    const { token } = this.#options;
    if (token === undefined) return request;
    return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
  }
}
