/**
 * The composition root: a simulator as an object that a test or a process owns. `api.ts` names the
 * part of it that users may hold on to. What the control port can do is a method here, with the
 * same names and shapes. Exceptions: the journal is `journalText()`, the stream of events is
 * `activity.listen`, and `health` has no method.
 */
import { parseSettings, type Settings, type SettingsInput, type Share } from './config/settings.ts';
import type { ApiReply, ApiRequest, Delivery } from './http/service/messages.ts';
import { InProcessFetch } from './http/transport/in-process-fetch.ts';
import { Activity } from './operations/activity.ts';
import { methodsOf, replay } from './operations/define.ts';
import type { Live } from './operations/live.ts';
import { type ReadyFile, readyNumbers } from './operations/ready-numbers.ts';
import { type NounMethods, nouns, recordedOperation } from './operations/table.ts';
import {
  type Listening,
  type ListenOptions,
  openPorts,
  type Ports,
  serviceHandler,
} from './ports.ts';
import { defaultJournalMaxBytes } from './recording/checkpoints.ts';
import { sha256 } from './recording/digest.ts';
import { ExchangeRecord, type RecordBound } from './recording/exchange-record.ts';
import { type Journal, MemoryJournal } from './recording/journal.ts';
import { resultDigest } from './recording/journal-entry.ts';
import type { HostedHeader } from './recording/journal-header.ts';
import type { RecordedRun } from './recording/journal-lines.ts';
import type { Player } from './recording/play.ts';
import { openRun, type Run } from './recording/resume.ts';
import { isoTime } from './sim/clock.ts';
import { MessageCounts, RequestCounts } from './sim/counts.ts';
import { overloadedNotice } from './sim/message-store.ts';
import { OperationRefused } from './sim/operation-refused.ts';
import type { KeyDigest } from './sim/records.ts';
import type { Counts } from './simulation/metrics/families.ts';
import { Simulation } from './simulation/simulation.ts';
import { WallClock } from './simulation/wall-clock.ts';
import { prefixOf } from './worlds/address.ts';
import { JournalFolder } from './worlds/journal-folder.ts';
import { firstWorldId, Worlds } from './worlds/worlds.ts';

export type { SettingsInput } from './config/settings.ts';
export type { ApiReply, ApiRequest } from './http/service/messages.ts';
export type { ReadyFile } from './operations/ready-numbers.ts';

/** How a simulator records its run; every field is optional. */
export interface SimulatorOptions {
  /**
   * A file to which every input is appended. If it exists, its inputs are replayed first and the
   * run continues. Without it, memory keeps the inputs since the last reset, and drops all
   * of them above its bound; `false` keeps no inputs.
   */
  readonly journal?: string | false | undefined;
  /**
   * A folder with one journal for each world, named by its id; after a restart the worlds are there
   * again. In place of `journal`.
   */
  readonly journalDir?: string | undefined;
  /** After this many bytes of inputs, a checkpoint replaces them. Default 1 GiB. */
  readonly journalMaxBytes?: number | undefined;
  /** Called with one line that the user should see, about the journal or `maxMessages`. */
  readonly onNotice?: ((line: string) => void) | undefined;
}

/** The options that users do not have: other parts of the program set them. */
export interface InternalOptions extends SimulatorOptions {
  /** The start of simulated time for any clock; for replaying a recorded run. */
  readonly startAtMs?: number | undefined;
  /** The digests of keys whose text is not known; for replaying a recorded run. */
  readonly keyDigests?: ReadonlyMap<string, KeyDigest> | undefined;
  /**
   * Creates each simulation, at the start and after a reset; a defect passes one with replaced
   * classes.
   */
  readonly simulation?: ((settings: Settings, startMs: number) => Simulation) | undefined;
  /** How many requests are kept for the referee; set when reading a recorded run. */
  readonly recordBound?: RecordBound | undefined;
  /** The worlds that this one belongs to; without it, this is the first world. */
  readonly hosting?: Worlds<Simulator> | undefined;
  /** Its id among these worlds. */
  readonly worldId?: string | undefined;
  /** The ids of worlds that it draws, where several servers share them. */
  readonly share?: Share | undefined;
  /** The world's entry in the header of its journal. */
  readonly hosted?: HostedHeader | undefined;
}

type SimulatorMethods = NounMethods['simulator'];
type Referee = NounMethods['referee']['judge'] & Pick<NounMethods['referee'], 'restart'>;

/** Replies of all worlds that a fault delays, until they are sent. */
const delayedReplies = new WeakMap<
  Delivery,
  { readonly simulator: Simulator; readonly request: number }
>();

export class Simulator implements Live, Player {
  readonly settings: Settings;
  readonly wallClock: WallClock;
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
  /** Reports with `sim.referee({ partial: true })`; `sim.referee.restart()` starts anew. */
  readonly referee: Referee = refereeOf(this);
  readonly snapshots: NounMethods['snapshots'] = methodsOf(this, nouns.snapshots);
  readonly past: NounMethods['past'] = methodsOf(this, nouns.past);
  readonly worlds: NounMethods['worlds'] = methodsOf(this, nouns.worlds);
  readonly #own = methodsOf(this, nouns.simulator);
  /** Counts of what the simulator holds. */
  readonly state: SimulatorMethods['state'] = this.#own.state;
  /** Checks all invariants: what was checked, and what is broken. */
  readonly invariants: SimulatorMethods['invariants'] = this.#own.invariants;
  /** The metrics for Prometheus, as values and without those of the process. */
  readonly metrics: SimulatorMethods['metrics'] = this.#own.metrics;
  /** Restores the start state, clock included. */
  readonly reset: SimulatorMethods['reset'] = this.#own.reset;
  readonly activity: Activity = new Activity(this);
  readonly exchangeRecord: ExchangeRecord;
  readonly waits: Live['waits'] = new Set();
  #messageCounts = new MessageCounts();
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
  readonly #onNotice: InternalOptions['onNotice'];
  #isOverloadReported = false;

  /** Throws a SettingsError that lists every mistake, or a JournalError. */
  constructor(settings: SettingsInput = {}, options: InternalOptions = {}) {
    this.settings = parseSettings(settings);
    this.#keyDigests = options.keyDigests ?? new Map();
    this.makeSimulation =
      options.simulation ?? ((parsed, startMs) => new Simulation(parsed, startMs));
    this.#onNotice = options.onNotice;
    const { journalDir, hosted } = options;
    const folder = journalDir === undefined ? undefined : new JournalFolder(journalDir);
    this.hosting = options.hosting ?? this.#newHosting(options, folder);
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
      this.#watchRoom();
    } catch (error) {
      run?.abandon();
      throw error;
    }
    this.wallClock = new WallClock(
      () => this.simulation.clock,
      this.settings,
      (rate) => this.#setRetryAfterRate(rate),
    );
    this.#start(run, startMs, options, folder);
    this.#count(this.simulation, 0);
  }

  /** Counts since the start. They survive a reset, so Prometheus counters never decrease. */
  get counts(): Counts {
    return { requests: this.exchangeRecord.counts, messages: this.#messageCounts };
  }

  /** Answers one request of the service, without a socket. */
  handle(request: ApiRequest): ApiReply {
    const startedMs = WallClock.ticksMs();
    this.wallClock.pump();
    const { simulation, exchangeRecord } = this;
    const handled = simulation.handle(request);
    const exchange = exchangeRecord.add(request, handled, simulation, this.#journal, startedMs);
    const { delivery } = handled.reply;
    if (delivery?.delayMs !== undefined || delivery?.cut === 'hang') {
      delayedReplies.set(delivery, { simulator: this, request: exchange.number });
    }
    if (this.activity.isWatched) {
      this.activity.answered(exchange);
      this.wallClock.arm();
    }
    return handled.reply;
  }

  replyFinished(delivery: Delivery, isSeen: boolean): void {
    const found = delayedReplies.get(delivery);
    if (found === undefined || !delayedReplies.delete(delivery)) return;
    found.simulator.#recordEnd(found.request, isSeen);
  }

  /**
   * A standard `fetch` that answers in this process, without a port; the origin of a URL is
   * ignored. An own property, so that it can be passed on as a function.
   */
  readonly fetch: typeof globalThis.fetch = (input, init) => {
    return this.#inProcess.fetch(input, init, this.baseUrl || 'http://localhost');
  };

  replayOperation(name: string, args: readonly unknown[]): { result: unknown } | undefined {
    const operation = recordedOperation(name);
    return operation === undefined ? undefined : { result: replay(operation, this, args) };
  }

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
        // An input that cannot be parsed has changed nothing.
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

  /**
   * The run as NDJSON: since the start or the last checkpoint; without a journal file, since the
   * last reset.
   */
  journalText(): string {
    return this.#keptJournal.text();
  }

  recordedRun(): RecordedRun {
    return this.#keptJournal.run();
  }

  /** The URL of the service; empty while it does not listen. */
  get baseUrl(): string {
    return this.urlsFor(undefined).baseUrl;
  }

  /** The URL of the control port; empty while it does not listen. */
  get controlUrl(): string {
    return this.urlsFor(undefined).controlUrl;
  }

  urlsFor(host: string | undefined): { readonly baseUrl: string; readonly controlUrl: string } {
    const urls = this.hosting.first.simulator.#ports?.urlsFor(host);
    return { baseUrl: this.#urlOf(urls?.baseUrl), controlUrl: this.#urlOf(urls?.controlUrl) };
  }

  /** Replaces the current simulation. */
  replace(simulation: Simulation): void {
    this.simulation.stop();
    this.exchangeRecord.restart();
    this.#count(simulation, this.simulation.world.messages.retention.forgottenMessages);
    this.simulation = simulation;
    // The old anchor would move the new clock to the old clock's time.
    this.wallClock.anchor();
    this.#watchRoom();
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

  /** True while a client waits for an event of this world. */
  get isWaitedFor(): boolean {
    return this.activity.streams > 0 || this.waits.size > 0;
  }

  /** Stops the serving process as SIGTERM does; without such a process, the same as `close`. */
  shutdown(): void {
    if (this.#onShutdown === undefined) void this.close();
    else this.#onShutdown();
  }

  /** Stops accepting requests, finishes those in flight, and releases everything. */
  async close(): Promise<void> {
    const closing = new OperationRefused('conflict', 'the simulator is closing');
    for (const abort of this.waits) abort(closing);
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

  #newHosting(options: InternalOptions, folder: JournalFolder | undefined): Worlds<Simulator> {
    const { journalMaxBytes, onNotice, simulation: makeSimulation, share } = options;
    const shared = { journalMaxBytes, onNotice, simulation: makeSimulation };
    const create = (settings: SettingsInput, own: InternalOptions) =>
      new Simulator(settings, { ...own, ...shared, hosting: this.hosting });
    return new Worlds<Simulator>(this, create, { folder, share });
  }

  /** Begins or continues the journal, and restores the other worlds. */
  #start(
    run: Run | undefined,
    startMs: number,
    options: InternalOptions,
    folder: JournalFolder | undefined,
  ): void {
    try {
      if (run !== undefined) this.#resume(run, options);
      else if (options.journal !== false) {
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

  #resume(run: Run, options: InternalOptions): void {
    const { journalMaxBytes = defaultJournalMaxBytes, onNotice } = options;
    this.#journal = run.resume(this, { journalMaxBytes, onNotice });
    // Replayed inputs were counted when they were recorded.
    this.exchangeRecord.counts = new RequestCounts();
    this.#messageCounts = new MessageCounts();
  }

  #recordEnd(request: number, isSeen: boolean): void {
    this.wallClock.pump();
    const nowMs = this.simulation.clock.now();
    const requestsAgo = this.exchangeRecord.total - request + 1;
    const at = isoTime(nowMs);
    this.#journal?.ended({ at, ended: requestsAgo, ...(!isSeen && { seen: false }) });
    this.exchangeRecord.ended(requestsAgo, nowMs, isSeen);
  }

  get #keptJournal(): Journal {
    if (this.#journal !== undefined) return this.#journal;
    throw new OperationRefused('conflict', 'no journal is kept');
  }

  /**
   * Continues counting with another simulation; the previous one has forgotten `forgottenBefore`
   * messages.
   */
  #count({ lifecycle, world }: Simulation, forgottenBefore: number): void {
    const messages = this.#messageCounts;
    messages.forgottenBefore += forgottenBefore - world.messages.retention.forgottenMessages;
    lifecycle.counts = messages;
  }

  /**
   * A client of a scaled clock may wait in real seconds. On a manual clock waits stay simulated.
   */
  #setRetryAfterRate(rate: number): void {
    const isReal = this.settings.retryAfterSeconds === 'real' && rate > 0;
    this.simulation.limiter.answerIn(isReal ? rate : 1);
  }

  #urlOf(url: string | null | undefined): string {
    if (typeof url !== 'string') return '';
    return this.#worldId === '' ? url : `${url}${prefixOf(this.#worldId)}`;
  }

  /** Reports once that sends are refused because no message can be forgotten. */
  #watchRoom(): void {
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

/** As the public `createSimulator` (`api.ts`), with everything that the program itself uses. */
export async function createSimulator(
  settings: SettingsInput = {},
  options: InternalOptions = {},
): Promise<Simulator> {
  return new Simulator(settings, options);
}

function refereeOf(live: Live): Referee {
  const { judge, restart } = methodsOf(live, nouns.referee);
  return Object.assign(judge, { restart });
}
