/**
 * The composition root: builds one simulated service (a *world*) from its parts and connects them.
 * `api.ts` declares the part of this class that users see. Every operation of the control port is a
 * method here, with the same name and shape. Exceptions: the journal is `journalText()`, the stream
 * of events is `activity.listen`, and `health` has no method.
 */

import type { ApiReply, ApiRequest, Delivery } from '#contract/request-and-reply.ts';
import { isoTime } from '#contract/time.ts';
import { sha256 } from '#io/digest.ts';
import { resultDigest } from '#judging/evidence/journal-entry.ts';
import { parseSettings, type Settings, type SettingsInput } from './config/settings.ts';
import { InProcessFetch } from './http/transport/in-process/in-process-fetch.ts';
import { Activity } from './operations/events/activity.ts';
import { methodsOf, replay } from './operations/perform.ts';
import type { RunningWorld } from './operations/running-world.ts';
import { type NounMethods, nouns, recordedOperation } from './operations/table.ts';
import { type ReadyFile, readyNumbers } from './operations/worlds/world-view.ts';
import {
  type Listening,
  type ListenOptions,
  openPorts,
  type Ports,
  serviceHandler,
} from './ports.ts';
import { defaultJournalMaxBytes } from './recording/checkpoint/checkpoints.ts';
import { openRun, type Run } from './recording/checkpoint/resume.ts';
import { ExchangeRecord } from './recording/exchange-record.ts';
import { type Journal, MemoryJournal } from './recording/journal/journal.ts';
import type { RecordedRun } from './recording/journal/journal-lines.ts';
import type { ReplayTarget } from './recording/play.ts';
import type { KeyDigest } from './sim/accounts/records.ts';
import { MessageCounts, RequestCounts } from './sim/counts.ts';
import { OperationRefused } from './sim/errors.ts';
import { overloadedNotice } from './sim/store/retention.ts';
import { Simulation } from './simulation/simulation.ts';
import { WallClock } from './simulation/wall-clock.ts';
import type { SimulatorOptionsWithin } from './simulator-options.ts';
import { prefixOf } from './worlds/address.ts';
import { JournalFolder } from './worlds/journal-folder.ts';
import { firstWorldId, Worlds } from './worlds/worlds.ts';

export type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
export type { SettingsInput } from './config/settings.ts';
export type { ReadyFile } from './operations/worlds/world-view.ts';
export type { SimulatorOptions } from './simulator-options.ts';

/** The options of this program's own parts; `hosting`: the worlds of the server that creates it. */
export type InternalOptions = SimulatorOptionsWithin<Worlds<Simulator>>;

type SimulatorMethods = NounMethods['simulator'];
type Referee = NounMethods['referee']['judge'] & Pick<NounMethods['referee'], 'restart'>;

/**
 * The replies that a fault delays, until they are sent. One map for all worlds: the transport
 * reports to the world that listens, whichever world has answered.
 */
const delayedReplies = new WeakMap<
  Delivery,
  { readonly simulator: Simulator; readonly requestNumber: number }
>();

/** One world. `RunningWorld`, `ReplayTarget` and `api.ts` describe members without a comment. */
export class Simulator implements RunningWorld, ReplayTarget {
  readonly settings: Settings;
  readonly wallClock: WallClock;
  // The operations as methods, by noun.
  readonly clock: NounMethods['clock'] = methodsOf(this, nouns.clock);
  readonly accounts: NounMethods['accounts'] = methodsOf(this, nouns.accounts);
  readonly sims: NounMethods['sims'] = methodsOf(this, nouns.sims);
  readonly messages: NounMethods['messages'] = methodsOf(this, nouns.messages);
  readonly limits: NounMethods['limits'] = methodsOf(this, nouns.limits);
  readonly assumptions: NounMethods['assumptions'] = methodsOf(this, nouns.assumptions);
  readonly outcomes: NounMethods['outcomes'] = methodsOf(this, nouns.outcomes);
  readonly faults: NounMethods['faults'] = methodsOf(this, nouns.faults);
  readonly requests: NounMethods['requests'] = methodsOf(this, nouns.requests);
  readonly exchanges: NounMethods['exchanges'] = methodsOf(this, nouns.exchanges);
  readonly referee: Referee = refereeOf(this);
  readonly snapshots: NounMethods['snapshots'] = methodsOf(this, nouns.snapshots);
  readonly past: NounMethods['past'] = methodsOf(this, nouns.past);
  readonly worlds: NounMethods['worlds'] = methodsOf(this, nouns.worlds);
  readonly #methods = methodsOf(this, nouns.simulator);
  readonly state: SimulatorMethods['state'] = this.#methods.state;
  readonly invariants: SimulatorMethods['invariants'] = this.#methods.invariants;
  readonly metrics: SimulatorMethods['metrics'] = this.#methods.metrics;
  readonly reset: SimulatorMethods['reset'] = this.#methods.reset;
  // The parts that the operations work on, and the state of this world.
  readonly activity: Activity = new Activity(this);
  readonly exchangeRecord: ExchangeRecord;
  /** Ends the open waits. */
  readonly waits: RunningWorld['waits'] = new Set();
  #messageCounts = new MessageCounts();
  /** All worlds of this server. The operations on them are `worlds`. */
  readonly hosting: Worlds<Simulator>;
  readonly #worldId: string;
  /** Called after `replace`. */
  onReplaced: (() => void) | undefined;
  /** The service itself. Only `replace` sets another one. */
  simulation: Simulation;
  readonly #keyDigests: ReadonlyMap<string, KeyDigest>;
  readonly makeSimulation: (settings: Settings, startMs: number) => Simulation;
  /** Undefined if no inputs are kept, while a journal is replayed, and once closed. */
  #journal: Journal | undefined;
  /** Undefined while this world does not listen; only the first world of a server does. */
  #ports: Ports | undefined;
  readonly #inProcess = new InProcessFetch(serviceHandler(this), {
    now: () => this.simulation.clock.now(),
  });
  #onShutdown: (() => void) | undefined;
  isClosing = false;
  readonly #onNotice: InternalOptions['onNotice'];
  #isOverloadReported = false;

  /**
   * Throws a SettingsError that lists every mistake, or a JournalError. The order of the steps
   * matters. An existing journal says when simulated time started, so it is opened (and locked)
   * before the simulation is created. The wall clock reads the simulation's clock, so it comes
   * next. Replaying the journal and restoring the other worlds use this whole object, so they come
   * last.
   */
  constructor(settings: SettingsInput = {}, options: InternalOptions = {}) {
    this.settings = parseSettings(settings);
    this.#keyDigests = options.keyDigests ?? new Map();
    this.makeSimulation =
      options.simulation ?? ((parsed, startMs) => new Simulation(parsed, startMs));
    this.#onNotice = options.onNotice;
    const { journalDir, hosted } = options;
    const folder = journalDir === undefined ? undefined : new JournalFolder(journalDir);
    this.hosting = options.hosting ?? this.#createHosting(options, folder);
    this.#worldId = options.worldId ?? '';
    this.exchangeRecord = new ExchangeRecord(options.recordBound);
    const journal = folder?.fileOf(firstWorldId) ?? options.journal;
    const run =
      typeof journal === 'string'
        ? openRun(journal, this.settings, { hosted, keyDigests: this.#keyDigests })
        : undefined;
    const startMs = options.startAtMs ?? run?.startedAtMs ?? WallClock.startMs(this.settings);
    // From here on a failure must release the journal's lock.
    try {
      this.simulation = this.freshSimulation(startMs);
      this.#reportOverload();
    } catch (error) {
      run?.abandon();
      throw error;
    }
    this.wallClock = new WallClock(
      () => this.simulation.clock,
      this.settings,
      (rate) => this.#setRetryAfterRate(rate),
    );
    this.#continueRuns(run, startMs, options, folder);
    this.#countMessagesOf(this.simulation, 0);
  }

  get counts(): RunningWorld['counts'] {
    return { requests: this.exchangeRecord.counts, messages: this.#messageCounts };
  }

  /** Answers one request of the service, without a socket, and records it. */
  handle(request: ApiRequest): ApiReply {
    const startedMs = WallClock.ticksMs();
    this.wallClock.pump();
    const { simulation, exchangeRecord } = this;
    const handled = simulation.handle(request);
    const exchange = exchangeRecord.add(request, handled, simulation, this.#journal, startedMs);
    const { delivery } = handled.reply;
    if (delivery?.delayMs !== undefined || delivery?.cut === 'hang') {
      delayedReplies.set(delivery, { simulator: this, requestNumber: exchange.number });
    }
    if (this.activity.isWatched) {
      this.activity.answered(exchange);
      this.wallClock.arm();
    }
    return handled.reply;
  }

  replyFinished(delivery: Delivery, isSeen: boolean): void {
    const delayed = delayedReplies.get(delivery);
    if (delayed === undefined) return;
    delayedReplies.delete(delivery);
    delayed.simulator.#recordEnd(delayed.requestNumber, isSeen);
  }

  /** A property and not a method, so that a client can call it without its object. */
  readonly fetch: typeof globalThis.fetch = (input, init) => {
    return this.#inProcess.fetch(input, init, this.baseUrl || 'http://localhost');
  };

  replayOperation(name: string, args: readonly unknown[]): { result: unknown } | undefined {
    const operation = recordedOperation(name);
    return operation === undefined ? undefined : { result: replay(operation, this, args) };
  }

  /** Runs an operation that changes state and writes it to the journal, refusals included. */
  change<T>(
    operation: string,
    args: readonly unknown[],
    act: () => T,
    recorded: (result: T) => unknown = (result) => result,
  ): T {
    return this.wallClock.atOneMoment(() => {
      const atMs = this.simulation.clock.now();
      try {
        const result = act();
        this.#journal?.operation(atMs, operation, args, resultDigest(recorded(result)));
        return result;
      } catch (error) {
        // An invalid input is refused before it changes anything, so a replay can do without it.
        if (error instanceof OperationRefused && error.code !== 'invalid') {
          this.#journal?.operation(atMs, operation, args, error.code);
        }
        throw error;
      }
    });
  }

  get journalFailure(): string | undefined {
    return this.#journal?.failure;
  }

  journalText(): string {
    return this.#requireJournal().text();
  }

  recordedRun(): RecordedRun {
    return this.#requireJournal().run();
  }

  get baseUrl(): string {
    return this.urlsFor(undefined).baseUrl;
  }

  get controlUrl(): string {
    return this.urlsFor(undefined).controlUrl;
  }

  urlsFor(host: string | undefined): { readonly baseUrl: string; readonly controlUrl: string } {
    const urls = this.hosting.first.simulator.#ports?.urlsFor(host);
    return { baseUrl: this.#worldUrl(urls?.baseUrl), controlUrl: this.#worldUrl(urls?.controlUrl) };
  }

  /** Continues with another simulation, after a reset or a restored snapshot. */
  replace(simulation: Simulation): void {
    this.simulation.stop();
    this.exchangeRecord.restart();
    const { forgottenMessages } = this.simulation.world.messages.retention;
    this.#countMessagesOf(simulation, forgottenMessages);
    this.simulation = simulation;
    // The old anchor would move the new clock to the old clock's time.
    this.wallClock.anchor();
    this.#reportOverload();
    this.activity.attach();
    this.onReplaced?.();
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

  /** True while a client reads its events or waits for a message. */
  get isWaitedFor(): boolean {
    return this.activity.streams > 0 || this.waits.size > 0;
  }

  shutdown(): void {
    if (this.#onShutdown === undefined) void this.close();
    else this.#onShutdown();
  }

  /** Stops accepting requests, finishes those in flight, and releases everything. */
  async close(): Promise<void> {
    this.isClosing = true;
    const closing = new OperationRefused('conflict', 'the simulator is closing');
    for (const endWait of this.waits) endWait(closing);
    this.#inProcess.close();
    if (this.hosting.isFirst(this)) await this.hosting.close();
    await this.#ports?.close();
    this.#ports = undefined;
    await this.#stop();
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

  /** The worlds of a server that starts with this one; the others share some of its options. */
  #createHosting(options: InternalOptions, folder: JournalFolder | undefined): Worlds<Simulator> {
    const { journalMaxBytes, onNotice, simulation, share } = options;
    // Called after the constructor has set `hosting`.
    const create = (settings: SettingsInput, worldOptions: InternalOptions) => {
      const shared = { journalMaxBytes, onNotice, simulation, hosting: this.hosting };
      return new Simulator(settings, { ...worldOptions, ...shared });
    };
    return new Worlds<Simulator>(this, create, { folder, share });
  }

  /** Begins or continues the journal of this world, then restores the other worlds of `folder`. */
  #continueRuns(
    run: Run | undefined,
    startMs: number,
    options: InternalOptions,
    folder: JournalFolder | undefined,
  ): void {
    try {
      if (run !== undefined) {
        this.#replay(run, options);
      } else if (options.journal !== false) {
        this.#journal = new MemoryJournal(this.settings, startMs);
      }
      if (folder !== undefined) this.hosting.restore(folder);
    } catch (error) {
      if (folder !== undefined) void this.hosting.close();
      void this.#stop();
      run?.abandon();
      throw error;
    }
  }

  #replay(run: Run, options: InternalOptions): void {
    const { journalMaxBytes = defaultJournalMaxBytes, onNotice } = options;
    this.#journal = run.resume(this, { journalMaxBytes, onNotice });
    // The replayed inputs came to an earlier process: the counts of this one start at 0.
    this.exchangeRecord.counts = new RequestCounts();
    this.#messageCounts = new MessageCounts();
  }

  #recordEnd(requestNumber: number, isSeen: boolean): void {
    this.wallClock.pump();
    const nowMs = this.simulation.clock.now();
    const requestsAgo = this.exchangeRecord.total - requestNumber + 1;
    const at = isoTime(nowMs);
    this.#journal?.ended({ at, ended: requestsAgo, ...(!isSeen && { seen: false }) });
    this.exchangeRecord.ended(requestsAgo, nowMs, isSeen);
  }

  #requireJournal(): Journal {
    if (this.#journal !== undefined) return this.#journal;
    throw new OperationRefused('conflict', 'no journal is kept');
  }

  /**
   * Counts the events of `simulation` from now on. The metric of forgotten messages must neither
   * jump nor decrease when a snapshot brings its own number: `forgottenBefore` holds what the
   * metric had, minus the new simulation's number. `previouslyForgotten`: the number of the
   * simulation before.
   */
  #countMessagesOf({ lifecycle, world }: Simulation, previouslyForgotten: number): void {
    const { forgottenMessages } = world.messages.retention;
    this.#messageCounts.forgottenBefore += previouslyForgotten - forgottenMessages;
    lifecycle.counts = this.#messageCounts;
  }

  /**
   * Sets the seconds in which `Retry-After` counts: simulated, or real ones on a clock that runs by
   * itself if the settings say so. `rate`: simulated seconds per second; 0 on a manual clock.
   */
  #setRetryAfterRate(rate: number): void {
    const isReal = this.settings.retryAfterSeconds === 'real' && rate > 0;
    this.simulation.limiter.setRetryAfterRate(isReal ? rate : 1);
  }

  /** The URL of this world below a URL of the server; empty if the server does not listen. */
  #worldUrl(url: string | null | undefined): string {
    if (typeof url !== 'string') return '';
    return this.#worldId === '' ? url : `${url}${prefixOf(this.#worldId)}`;
  }

  /** Reports once, resets included, that sends are refused: no message can be forgotten. */
  #reportOverload(): void {
    this.simulation.world.messages.retention.onOverloaded = () => {
      if (this.#isOverloadReported) return;
      this.#onNotice?.(overloadedNotice);
      this.#isOverloadReported = true;
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
}

/** Creates a simulator for the program itself; `api.ts` has the public function of this name. */
export async function createSimulator(
  settings: SettingsInput = {},
  options: InternalOptions = {},
): Promise<Simulator> {
  return new Simulator(settings, options);
}

function refereeOf(live: RunningWorld): Referee {
  const { judge, restart } = methodsOf(live, nouns.referee);
  return Object.assign(judge, { restart });
}
