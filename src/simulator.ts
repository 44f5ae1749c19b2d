/**
 * The composition root: a simulator as a value that a test or a process holds.
 * Everything the control port can do is a method here first, in the same words and shapes.
 */

import { parseSettings, type Settings, type SettingsInput } from './config/settings.ts';
import {
  type Listening,
  type ListenOptions,
  openPorts,
  type Ports,
  serviceHandler,
} from './http/ports.ts';
import type { Handled } from './http/service/api.ts';
import { addressOf } from './http/service/api.ts';
import { hideKeys } from './http/service/hidden-keys.ts';
import type { ApiReply, ApiRequest, Delivery } from './http/service/messages.ts';
import { InProcessFetch } from './http/transport/in-process-fetch.ts';
import { accounts } from './operations/accounts.ts';
import { Activity } from './operations/activity.ts';
import { assumptions } from './operations/assumptions.ts';
import { clock } from './operations/clock.ts';
import { type Methods, methodsOf, replay } from './operations/define.ts';
import { exchanges } from './operations/exchanges.ts';
import { faults } from './operations/faults.ts';
import { limits } from './operations/limits.ts';
import type { Live } from './operations/live.ts';
import { messages } from './operations/messages.ts';
import { OpenWaits } from './operations/open-waits.ts';
import { outcomes } from './operations/outcomes.ts';
import { type ReadyNumbers, readyNumbers } from './operations/ready-numbers.ts';
import { referee } from './operations/referee.ts';
import { RequestLog } from './operations/request-log.ts';
import { requests } from './operations/requests.ts';
import { sims } from './operations/sims.ts';
import { simulator } from './operations/simulator.ts';
import { snapshots } from './operations/snapshots.ts';
import { recordedOperation } from './operations/table.ts';
import { worlds } from './operations/worlds.ts';
import { defaultJournalMaxBytes } from './recording/checkpoints.ts';
import { sha256 } from './recording/digest.ts';
import { type Journal, MemoryJournal } from './recording/journal.ts';
import { requestEntry, resultDigest } from './recording/journal-entry.ts';
import { openRun, type Resumed } from './recording/resume.ts';
import { ExchangeRecord, type RecordBound } from './referee/exchange-record.ts';
import { isoTime } from './sim/iso-time.ts';
import { MessageCounts } from './sim/message-counts.ts';
import { OperationRefused } from './sim/operation-refused.ts';
import type { KeyDigest } from './sim/records.ts';
import { overloadedNotice } from './sim/retention.ts';
import { RequestCounts } from './simulation/metrics/request-counts.ts';
import { Simulation } from './simulation/simulation.ts';
import { WallClock } from './simulation/wall-clock.ts';
import { prefixOf } from './worlds/address.ts';
import { Worlds } from './worlds/worlds.ts';

export { SettingsError } from './config/mistakes.ts';
export type { SettingsInput } from './config/settings.ts';
export type { ApiReply, ApiRequest } from './http/service/messages.ts';
export { ListenError, PortInUseError } from './http/transport/transport.ts';
export { JournalError } from './recording/journal-error.ts';
/** For Jest: `expect.extend({ toPassReferee })`; `smstwin/vitest` has done so. */
export { type PassRefereeOptions, toPassReferee } from './referee/matcher.ts';
export { OperationRefused } from './sim/operation-refused.ts';

/** What `--ready-file` holds: where the simulator listens, and what to use it with. */
export interface ReadyFile extends ReadyNumbers {
  readonly base_url: string;
  readonly control_url: string | null;
  readonly pid: number;
  readonly seed: number;
}

export interface SimulatorOptions {
  /**
   * A file that every input is appended to; one that exists is played first, and the run goes on
   * from there. Without it the first inputs are kept in memory; `false` keeps none.
   */
  readonly journal?: string | false | undefined;
  /** When this many bytes of inputs have come, a checkpoint replaces them. Default 1 GiB. */
  readonly journalMaxBytes?: number | undefined;
  /** Told, in one line, what the user should know of the journal and of `maxMessages`. */
  readonly onNotice?: ((line: string) => void) | undefined;
  /** Where simulated time starts, whatever the clock; for playing a recorded run. */
  readonly startAtMs?: number | undefined;
  /** What stands for the keys of a world whose text is not known; for playing a recorded run. */
  readonly keyDigests?: ReadonlyMap<string, KeyDigest> | undefined;
  /**
   * Makes each life of the service, at the start and after a reset: one of other parts, for a
   * defect.
   */
  readonly simulation?: ((settings: Settings, startMs: number) => Simulation) | undefined;
  /** How many requests are kept for the referee; for reading a recorded run. */
  readonly recordBound?: RecordBound | undefined;
  /** The worlds that this one is one of; without it, this one is the first. */
  readonly hosting?: Worlds<Simulator> | undefined;
  /** Its id among them. */
  readonly worldId?: string | undefined;
}

type Own = Methods<typeof simulator>;
type RefereeMethods = Methods<typeof referee>;
type Referee = RefereeMethods['judge'] & Pick<RefereeMethods, 'restart'>;

/** Replies of all worlds that a fault holds back, until they have left. */
const underway = new WeakMap<
  Delivery,
  { readonly simulator: Simulator; readonly request: number }
>();

export class Simulator implements Live, Resumed {
  readonly settings: Settings;
  readonly wallClock: WallClock;
  readonly clock: Methods<typeof clock> = methodsOf(this, clock);
  readonly accounts: Methods<typeof accounts> = methodsOf(this, accounts);
  readonly sims: Methods<typeof sims> = methodsOf(this, sims);
  readonly messages: Methods<typeof messages> = methodsOf(this, messages);
  readonly limits: Methods<typeof limits> = methodsOf(this, limits);
  readonly assumptions: Methods<typeof assumptions> = methodsOf(this, assumptions);
  readonly outcomes: Methods<typeof outcomes> = methodsOf(this, outcomes);
  readonly faults: Methods<typeof faults> = methodsOf(this, faults);
  readonly requests: Methods<typeof requests> = methodsOf(this, requests);
  readonly exchanges: Methods<typeof exchanges> = methodsOf(this, exchanges);
  /** The report: `sim.referee({ partial: true })`; `sim.referee.restart()` begins anew. */
  readonly referee: Referee = refereeOf(this);
  readonly snapshots: Methods<typeof snapshots> = methodsOf(this, snapshots);
  readonly worlds: Methods<typeof worlds> = methodsOf(this, worlds);
  readonly #own = methodsOf(this, simulator);
  /** What the simulator holds, in numbers. */
  readonly state: Own['state'] = this.#own.state;
  /** Whether all that must hold of the world does: what was looked at, and what is broken. */
  readonly invariants: Own['invariants'] = this.#own.invariants;
  /** What Prometheus reads, as values and without the metrics of the process. */
  readonly metrics: Own['metrics'] = this.#own.metrics;
  /** The world as it was at start, clock included. */
  readonly reset: Own['reset'] = this.#own.reset;
  readonly activity: Activity = new Activity(this);
  readonly requestLog = new RequestLog();
  readonly exchangeRecord: ExchangeRecord;
  readonly waits = new OpenWaits();
  /** They outlive a reset, so that they never go back. */
  counts = freshCounts();
  /** The worlds of this server. */
  readonly hosting: Worlds<Simulator>;
  readonly #worldId: string;
  onReplaced: (() => void) | undefined;
  simulation: Simulation;
  readonly #keyDigests: ReadonlyMap<string, KeyDigest>;
  readonly makeSimulation: (settings: Settings, startMs: number) => Simulation;
  #journal: Journal | undefined;
  #ports: Ports | undefined;
  readonly #inProcess = new InProcessFetch(serviceHandler(this), {
    now: () => this.simulation.clock.now(),
  });
  #onShutdown: (() => void) | undefined;
  /** Undefined once it has told of a lack of room. */
  #onNotice: SimulatorOptions['onNotice'];

  /** Throws a SettingsError that lists every mistake, or a JournalError. */
  constructor(settings: SettingsInput = {}, options: SimulatorOptions = {}) {
    this.settings = parseSettings(settings);
    this.#keyDigests = options.keyDigests ?? new Map();
    this.makeSimulation =
      options.simulation ?? ((parsed, startMs) => new Simulation(parsed, startMs));
    this.hosting =
      options.hosting ??
      new Worlds<Simulator>(
        this,
        (given, own) =>
          new Simulator(given, {
            ...own,
            simulation: options.simulation,
            hosting: this.hosting,
          }),
      );
    this.#worldId = options.worldId ?? '';
    this.exchangeRecord = new ExchangeRecord(options.recordBound);
    const { journal } = options;
    const run = typeof journal === 'string' ? openRun(journal, this.settings) : undefined;
    const startMs = options.startAtMs ?? run?.startedAtMs ?? WallClock.startMs(this.settings);
    try {
      this.#onNotice = options.onNotice;
      this.simulation = this.freshSimulation(startMs);
      this.#watchRoom();
    } catch (error) {
      run?.abandon();
      throw error;
    }
    this.wallClock = new WallClock(
      () => this.simulation.clock,
      this.settings,
      (rate) => this.#countWaits(rate),
    );
    try {
      if (run !== undefined) {
        const { journalMaxBytes = defaultJournalMaxBytes, onNotice } = options;
        this.#journal = run.resume(this, { journalMaxBytes, onNotice });
        // What the journal played again was counted when it was recorded.
        this.counts = freshCounts();
      } else if (journal !== false) this.#journal = new MemoryJournal(this.settings, startMs);
    } catch (error) {
      void this.#stop();
      run?.abandon();
      throw error;
    }
    this.#count(this.simulation, 0);
  }

  /** Answers one request of the service, without a socket. */
  handle(request: ApiRequest): ApiReply {
    const hiding = hideKeys(this.simulation.world.keyRing, request);
    return hiding === undefined
      ? this.#answer(request, false)
      : hiding.revealed(this.#answer(hiding, true));
  }

  #answer(request: ApiRequest, showsKey: boolean): ApiReply {
    const startedMs = WallClock.ticksMs();
    this.wallClock.pump();
    const { simulation } = this;
    const handled = simulation.handle(request);
    const nowMs = simulation.clock.now();
    if (this.exchangeRecord.isOpen || this.#journal?.isRecording === true) {
      this.#record(nowMs, request, handled, showsKey);
    }
    const tookMs = WallClock.ticksMs() - startedMs;
    this.requestLog.add(request, handled, nowMs, tookMs);
    this.counts.requests.answered(handled.endpoint, handled.reply.status, tookMs);
    if (this.activity.isWatched) {
      this.activity.answered(handled.endpoint, handled.reply.status, nowMs, this.requestLog);
      this.wallClock.arm();
    }
    return handled.reply;
  }

  #record(atMs: number, request: ApiRequest, handled: Handled, showsKey: boolean): void {
    const { world, limiter } = this.simulation;
    const entry = requestEntry(atMs, request, handled);
    if (this.#journal?.isRecording) this.#journal.request(entry);
    const address = handled.key === undefined ? addressOf(world, request) : '';
    const waitRate = limiter.answerRate;
    this.exchangeRecord.add(entry, handled, { address, waitRate, showsKey });
    const { delivery } = handled.reply;
    if (delivery?.delayMs !== undefined || delivery?.cut === 'hang') {
      underway.set(delivery, { simulator: this, request: this.exchangeRecord.requests });
    }
  }

  left(delivery: Delivery, isSeen: boolean): void {
    const found = underway.get(delivery);
    if (found === undefined || !underway.delete(delivery)) return;
    found.simulator.#ended(found.request, isSeen);
  }

  #ended(request: number, isSeen: boolean): void {
    this.wallClock.pump();
    const nowMs = this.simulation.clock.now();
    const back = this.exchangeRecord.requests - request + 1;
    const at = isoTime(nowMs);
    if (this.#journal?.isRecording) {
      this.#journal.ended({ at, ended: back, ...(!isSeen && { seen: false }) });
    }
    this.exchangeRecord.ended(back, nowMs, isSeen);
  }

  /**
   * A standard `fetch` that answers in this process, without a port; the origin of a URL is
   * ignored. An own property, so that it can be handed on as a function.
   */
  readonly fetch: typeof globalThis.fetch = (input, init) => {
    return this.#inProcess.fetch(input, init, this.baseUrl || 'http://localhost');
  };

  replayOperation(name: string, args: readonly unknown[]): { result: unknown } | undefined {
    const operation = recordedOperation(name);
    return operation === undefined ? undefined : { result: replay(operation, this, args) };
  }

  change<T>(
    lever: string,
    args: readonly unknown[],
    act: () => T,
    recorded: (result: T) => unknown = (result) => result,
  ): T {
    return this.wallClock.atOneMoment(() => {
      const atMs = this.simulation.clock.now();
      try {
        const result = act();
        this.#journal?.lever(atMs, lever, args, resultDigest(recorded(result)));
        return result;
      } catch (error) {
        // What is not understood has changed nothing.
        if (error instanceof OperationRefused && error.code !== 'invalid') {
          this.#journal?.lever(atMs, lever, args, error.code);
        }
        throw error;
      }
    });
  }

  /** The run since the start, or without a journal file since the last reset, as NDJSON. */
  journalText(): string {
    if (this.#journal === undefined) throw new OperationRefused('conflict', 'no journal is kept');
    return this.#journal.text();
  }

  /** Where the service listens; empty while it does not. */
  get baseUrl(): string {
    return this.#urlOf(this.hosting.first.simulator.#ports?.listening.baseUrl);
  }

  /** Where the control port listens; empty while it does not. */
  get controlUrl(): string {
    return this.#urlOf(this.hosting.first.simulator.#ports?.listening.controlUrl);
  }

  /** Puts another simulation in the place of this one. */
  replace(simulation: Simulation): void {
    this.simulation.stop();
    this.exchangeRecord.restart();
    this.#count(simulation, this.simulation.world.messages.retention.forgottenMessages);
    this.simulation = simulation;
    // The old anchor would pull the new clock to where the old one should be.
    this.wallClock.anchor();
    this.#watchRoom();
    this.activity.attach();
    this.onReplaced?.();
  }

  /** Goes on counting with another simulation; the one before has forgotten so many messages. */
  #count({ lifecycle, world }: Simulation, forgottenBefore: number): void {
    const { messages } = this.counts;
    messages.forgottenBefore += forgottenBefore - world.messages.retention.forgottenMessages;
    lifecycle.counts = messages;
  }

  /** Opens the ports. Throws a PortInUseError or a ListenError. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    if (this.#ports !== undefined) throw new Error('this simulator listens already');
    this.#ports = await openPorts(this, options);
    this.#onShutdown = options.onShutdown;
    return this.#ports.listening;
  }

  readyFile(): ReadyFile {
    return {
      base_url: this.baseUrl,
      control_url: this.#ports?.listening.controlUrl ?? null,
      pid: process.pid,
      seed: this.settings.seed,
      ...readyNumbers(this.simulation.world),
    };
  }

  /** True while a client waits for an event of this world. */
  get isWaitedFor(): boolean {
    return this.activity.streams > 0 || this.waits.size > 0;
  }

  /** As a SIGTERM to the process that serves; without such a process, as `close`. */
  shutdown(): void {
    if (this.#onShutdown === undefined) void this.close();
    else this.#onShutdown();
  }

  /** Stops accepting, finishes what is in flight, and leaves nothing behind. */
  async close(): Promise<void> {
    this.waits.close();
    this.#inProcess.close();
    if (this.hosting.isFirst(this)) await this.hosting.close();
    await this.#ports?.close();
    this.#ports = undefined;
    await this.#stop();
  }

  /**
   * A client on a scaled clock waits in real seconds. A manual clock has none: there they stay
   * simulated.
   */
  #countWaits(rate: number): void {
    const isReal = this.settings.retryAfterSeconds === 'real' && rate > 0;
    this.simulation.limiter.answerIn(isReal ? rate : 1);
  }

  #urlOf(url: string | null | undefined): string {
    if (typeof url !== 'string') return '';
    return this.#worldId === '' ? url : `${url}${prefixOf(this.#worldId)}`;
  }

  /** Says once that sends are refused because nothing can be forgotten. */
  #watchRoom(): void {
    this.simulation.world.messages.retention.onOverloaded = () => {
      this.#onNotice?.(overloadedNotice);
      this.#onNotice = undefined;
    };
  }

  async #stop(): Promise<void> {
    this.wallClock.stop();
    this.simulation.stop();
    this.activity.close();
    const journal = this.#journal;
    this.#journal = undefined;
    await journal?.close();
  }

  startMs(): number {
    return this.wallClock.startMs();
  }

  freshSimulation(startMs: number): Simulation {
    const simulation = this.makeSimulation(this.settings, startMs);
    if (this.#keyDigests.size > 0) simulation.world.keyRing.digestWith(sha256);
    for (const key of simulation.world.keys.values()) {
      const digest = this.#keyDigests.get(key.key);
      if (digest !== undefined) simulation.world.keyRing.forgetText(key, digest);
    }
    return simulation;
  }
}

/** Makes a simulator; no port is opened before `listen`. */
export async function createSimulator(
  settings: SettingsInput = {},
  options: SimulatorOptions = {},
): Promise<Simulator> {
  return new Simulator(settings, options);
}

function refereeOf(live: Live): Referee {
  const { judge, restart } = methodsOf(live, referee);
  return Object.assign((...args: Parameters<typeof judge>) => judge(...args), { restart });
}

function freshCounts(): { readonly requests: RequestCounts; readonly messages: MessageCounts } {
  return { requests: new RequestCounts(), messages: new MessageCounts() };
}
