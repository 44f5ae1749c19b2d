/**
 * Starts the process of a shard, and starts it again whenever it ends; or joins a shard that runs
 * elsewhere (`--join`). Keeps the state of the shard, which decides whether requests wait.
 */
import { CommandError, UsageError } from '#io/command-error.ts';
import { reasonOf } from '#io/plain-file.ts';
import { routeOf } from '#src/operations/table.ts';
import { firstWorldId } from '#src/worlds/worlds.ts';
import { type Launch, type Ready, ShardProcess } from './child.ts';
import { Shard, type ShardLife, type ShardOptions, type ShardState } from './shard.ts';

export type JoinedShard = Pick<Ready, 'base_url' | 'control_url'>;

type ShardEvent = 'listens' | 'resumed' | 'resume_failed' | 'ended' | 'unanswered' | 'answered';

/** The state after each event, by the state before it. An event that is not listed changes none. */
const nextStates: Readonly<Record<ShardState, Partial<Record<ShardEvent, ShardState>>>> = {
  starting: { listens: 'resuming' },
  resuming: { resumed: 'ready', resume_failed: 'starting' },
  ready: { unanswered: 'silent', ended: 'starting' },
  silent: { answered: 'ready', ended: 'starting' },
  stopped: {},
};

/** A shard that takes longer to answer is silent. */
const silentAfterMs = 2_000;

export class ShardSupervisor implements ShardLife {
  readonly shard: Shard;
  readonly #options: ShardOptions;
  /** Undefined for a shard that runs elsewhere. */
  #process: ShardProcess | undefined;
  #state: ShardState = 'starting';
  ready: Ready = { base_url: '', control_url: '', pid: 0, seed: 0, accounts: [], pool: [] };
  restarts = 0;
  /** Called when its process has ended, before it is started again. */
  onEnded: () => Promise<void> = async () => {};
  /** Called when it has started again, before it counts as ready. */
  onRestarted: () => Promise<void> = async () => {};

  private constructor(options: ShardOptions) {
    this.#options = options;
    this.shard = new Shard(options, this);
  }

  /** Resolves once the process answers. Rejects with a CommandError that has its exit code. */
  static async start(options: ShardOptions, launch: Launch): Promise<ShardSupervisor> {
    const supervisor = new ShardSupervisor(options);
    const onLine = (line: string) => {
      if (supervisor.state === 'ready') launch.onLine?.(line);
    };
    const process = new ShardProcess(options.index, { ...launch, onLine });
    supervisor.#process = process;
    supervisor.#noteListening(await process.startOnFreePorts());
    // The fleet reads a shard later when it starts for the first time.
    supervisor.#enter('resumed');
    void process.keepRunning({
      onEnded: (how) => supervisor.#noteEnd(how),
      onStarted: (ready) => supervisor.#resume(ready),
      notice: options.notice,
    });
    return supervisor;
  }

  /** A shard that runs elsewhere. Rejects with a CommandError if it cannot be a part of a fleet. */
  static async join(options: ShardOptions, urls: JoinedShard): Promise<ShardSupervisor> {
    const supervisor = new ShardSupervisor(options);
    supervisor.#noteListening({ ...supervisor.ready, ...urls });
    try {
      await supervisor.#readJoined();
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const why = `${urls.control_url} cannot be joined (${reasonOf(error)})`;
      throw new CommandError(3, `${why}: start this shard first, or correct its URL in the list`);
    }
    supervisor.#enter('resumed');
    return supervisor;
  }

  get state(): ShardState {
    return this.#state;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#process?.hasEnded === true;
  }

  get address(): string {
    return this.#process?.address ?? new URL(this.ready.base_url).host;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    await this.#process?.stop();
  }

  /** Notes that the shard does not answer, and that it answers again. */
  async check(): Promise<void> {
    if (this.#state !== 'ready' && this.#state !== 'silent') return;
    const signal = AbortSignal.timeout(silentAfterMs);
    const reply = await this.shard.askNow(routeOf('clock.state'), signal).catch(() => undefined);
    const { notice, index } = this.#options;
    if (reply === undefined) {
      if (this.#enter('unanswered')) notice(`shard ${index} does not answer; its requests wait`);
    } else if (this.#enter('answered')) notice(`shard ${index} answers again`);
  }

  /** Takes the event's step. False if the event leads to no other state. */
  #enter(event: ShardEvent): boolean {
    const next = nextStates[this.#state][event];
    if (next !== undefined) this.#state = next;
    return next !== undefined;
  }

  #noteListening(ready: Ready): void {
    this.ready = ready;
    this.#enter('listens');
  }

  async #readJoined(): Promise<void> {
    const { accounts, pool } = await this.shard.readNow('worlds.get', firstWorldId);
    const { seed } = await this.shard.readNow('simulator.state');
    this.ready = { ...this.ready, accounts, pool, seed };
    const { clientIp } = await this.shard.readNow('assumptions.get');
    if (clientIp !== 'x_forwarded_for')
      throw new UsageError(`${this.ready.base_url}: start it with --trust-proxy`);
  }

  async #noteEnd(how: string): Promise<void> {
    this.#enter('ended');
    const { notice, index, timeoutMs } = this.#options;
    notice(`shard ${index} ended (${how}); its requests wait up to ${timeoutMs} ms for its return`);
    await this.onEnded();
  }

  async #resume(ready: Ready): Promise<void> {
    this.#noteListening(ready);
    try {
      await this.onRestarted();
    } catch (error) {
      this.#enter('resume_failed');
      throw error;
    }
    if (!this.#enter('resumed')) return;
    this.restarts += 1;
    this.#options.notice(`shard ${this.shard.index} runs again`);
  }
}
