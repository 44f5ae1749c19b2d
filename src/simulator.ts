/**
 * The composition root: builds one simulated service (a *world*) from its parts and connects them.
 * `api.ts` declares the part of this class that users see. Every operation of the control port is a
 * method here, with the same name and shape. Exceptions: the journal is `journalText()`, the stream
 * of events is `activity.listen`, and `health` has no method.
 */
import type { ApiReply, ApiRequest, Awaits } from '#contract/request-and-reply.ts';
import {
  defaultTransport,
  parseSettings,
  type Settings,
  type SettingsInput,
} from './config/settings.ts';
import { InProcessFetch } from './http/transport/in-process/in-process-fetch.ts';
import { Activity } from './operations/events/activity.ts';
import { methodsOf, replay } from './operations/perform.ts';
import type { RunningWorld } from './operations/running-world.ts';
import {
  type NounMethods,
  nouns,
  type RefereeMethods,
  recordedOperation,
  refereeMethods,
  routeOf,
} from './operations/table.ts';
import { always, type ReadyFile, readyNumbers } from './operations/worlds/world-view.ts';
import {
  type Listening,
  type ListenOptions,
  openPorts,
  type Ports,
  serviceOf,
  shownMs,
  worldUrls,
} from './ports.ts';
import { ExchangeRecord } from './recording/exchange-record.ts';
import { digestOfKey } from './recording/journal/journal-header.ts';
import type { RecordedRun } from './recording/journal/journal-lines.ts';
import { replyFinished, WorldJournal } from './recording/journal/world-journal.ts';
import type { KeyDigest } from './sim/accounts/account.ts';
import { MessageCounts, RequestCounts } from './sim/counts.ts';
import { conflict } from './sim/errors.ts';
import { reportingOnce } from './sim/store/retention.ts';
import { Simulation } from './simulation/simulation.ts';
import { WallClock } from './simulation/wall-clock.ts';
import type { SimulatorOptionsWithin, WorldSimulator } from './worlds/hosted-world.ts';
import { JournalFolder } from './worlds/journal-folder.ts';
import { firstWorldId, Worlds } from './worlds/worlds.ts';

export type { SettingsInput } from './config/settings.ts';
export type { ReadyFile } from './operations/worlds/world-view.ts';
export type { SimulatorOptions } from './worlds/hosted-world.ts';

/** The options that parts of this program set. `hostedWorlds`: the worlds of an existing server. */
export type InternalOptions = SimulatorOptionsWithin<Worlds<Simulator>>;

/** One world. Members without a comment are described in its interfaces and in `api.ts`. */
export class Simulator implements RunningWorld, WorldSimulator {
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
  readonly referee: RefereeMethods = refereeMethods(this);
  readonly snapshots: NounMethods['snapshots'] = methodsOf(this, nouns.snapshots);
  readonly past: NounMethods['past'] = methodsOf(this, nouns.past);
  readonly worlds: NounMethods['worlds'] = methodsOf(this, nouns.worlds);
  readonly #methods = methodsOf(this, nouns.simulator);
  readonly state: NounMethods['simulator']['state'] = this.#methods.state;
  readonly invariants: NounMethods['simulator']['invariants'] = this.#methods.invariants;
  readonly metrics: NounMethods['simulator']['metrics'] = this.#methods.metrics;
  readonly reset: NounMethods['simulator']['reset'] = this.#methods.reset;
  // The parts of this world.
  readonly settings: Settings;
  /** The service itself. Only `replace` sets another one. */
  simulation: Simulation;
  readonly wallClock: WallClock;
  readonly exchangeRecord: ExchangeRecord;
  readonly #worldJournal = new WorldJournal(this);
  readonly activity: Activity = new Activity(this);
  readonly waits: RunningWorld['waits'] = new Set();
  #messageCounts = new MessageCounts();
  readonly #inProcess = new InProcessFetch(serviceOf(this), { now: () => shownMs(this) });
  // This world's place among the worlds of its server.
  readonly #worldId: string;
  /** All worlds of this server. `worlds` has the operations on them. */
  readonly hostedWorlds: Worlds<Simulator>;
  /** Undefined while this world does not listen; only the first world of a server does. */
  #ports: Ports | undefined;
  /** Resolves to `#ports`. Set as soon as `listen` is called, so that `close` can wait for it. */
  #opening: Promise<Ports> | undefined;
  onReplaced: (() => void) | undefined;
  isClosing = false;
  // What the options set.
  readonly #keyDigests: ReadonlyMap<string, KeyDigest>;
  readonly makeSimulation: (settings: Settings, startMs: number) => Simulation;
  readonly #onOverloaded: () => void;
  #onShutdown: (() => void) | undefined;
  readonly routeOf: RunningWorld['routeOf'] = routeOf;

  /**
   * Opens the journal, builds the simulation with its clock, replays the journal on them, and
   * restores the other worlds of a folder. If a step fails, those before it are undone. Throws a
   * SettingsError that lists every mistake, or a JournalError.
   */
  constructor(settings: SettingsInput = {}, options: InternalOptions = {}) {
    this.settings = parseSettings(settings);
    this.#keyDigests = options.keyDigests ?? new Map();
    this.makeSimulation =
      options.simulation ?? ((parsed, startMs) => new Simulation(parsed, startMs));
    this.#onOverloaded = reportingOnce(options.onNotice);
    const { journalDir } = options;
    const folder = journalDir === undefined ? undefined : new JournalFolder(journalDir);
    this.hostedWorlds = options.hostedWorlds ?? this.#createHostedWorlds(options, folder);
    this.#worldId = options.worldId ?? '';
    this.exchangeRecord = new ExchangeRecord(options.recordBound, (exchange) => {
      this.#worldJournal.noteDelayed(exchange);
      if (this.activity.hasAudience) this.activity.answered(exchange);
    });
    const undo: (() => unknown)[] = [];
    try {
      // The journal comes first: an existing one says when simulated time started.
      const recordedStartMs = this.#worldJournal.open(this.settings, {
        ...options,
        journal: folder?.fileOf(firstWorldId) ?? options.journal,
      });
      undo.push(() => this.#worldJournal.abandon());
      const startMs = options.startAtMs ?? recordedStartMs ?? WallClock.startMs(this.settings);
      this.simulation = this.simulationAtStart(startMs);
      this.wallClock = new WallClock(
        () => this.simulation.clock,
        this.settings,
        (rate) => this.simulation.setClockRate(rate),
      );
      undo.push(() => this.#stop());
      // Replays the journal on this object, which is complete from here on.
      if (this.#worldJournal.begin(startMs, options)) this.#restartCounts();
      if (folder !== undefined) {
        undo.push(() => this.hostedWorlds.close());
        this.hostedWorlds.restore(folder);
      }
    } catch (error) {
      undoAll(undo);
      throw error;
    }
    this.#countEventsOf(this.simulation, 0);
  }

  get counts(): RunningWorld['counts'] {
    return { requests: this.exchangeRecord.counts, messages: this.#messageCounts };
  }

  handle(request: ApiRequest, awaits?: Awaits): ApiReply {
    const startedMs = WallClock.ticksMs();
    this.wallClock.catchUp();
    const { simulation, exchangeRecord } = this;
    const handled = simulation.handle(request);
    const { journal } = this.#worldJournal;
    const write = exchangeRecord.add(request, handled, simulation, journal, startedMs);
    // The request may have set a nearer deadline, for which a bound clock then wakes.
    if (this.activity.hasAudience) this.wallClock.arm();
    if (write === undefined) return handled.reply;
    // The reply must wait for this write. A transport waits until the end of its turn, so that one
    // write records all requests of that turn.
    if (awaits !== undefined) awaits(write);
    else throwIfFailed(write());
    return handled.reply;
  }

  /** The same function for all worlds: it finds the journal by the delivery. */
  readonly replyFinished = replyFinished;

  /** A property and not a method, so that a client can call it without its object. */
  readonly fetch: typeof globalThis.fetch = (input, init) =>
    this.#inProcess.fetch(input, init, this.baseUrl || 'http://localhost');

  replayOperation(name: string, args: readonly unknown[]): { result: unknown } | undefined {
    const operation = recordedOperation(name);
    return operation === undefined ? undefined : { result: replay(operation, this, args) };
  }

  readonly change: RunningWorld['change'] = (...input) => this.#worldJournal.change(...input);

  get journalFailure(): string | undefined {
    return this.#worldJournal.journal?.failure;
  }

  journalText(): string {
    return this.#worldJournal.text;
  }

  recordedRun(): RecordedRun {
    return this.#worldJournal.run;
  }

  get baseUrl(): string {
    return this.urlsFor(undefined).baseUrl;
  }

  get controlUrl(): string {
    return this.urlsFor(undefined).controlUrl;
  }

  urlsFor(host: string | undefined): { readonly baseUrl: string; readonly controlUrl: string } {
    return worldUrls(this.hostedWorlds.first.simulator.#ports, this.#worldId, host);
  }

  /** Continues with another simulation, after a reset or a restored snapshot. */
  replace(simulation: Simulation): void {
    this.simulation.stop();
    this.exchangeRecord.restart();
    const { forgottenMessages } = this.simulation.world.messages.retention;
    this.#countEventsOf(simulation, forgottenMessages);
    this.simulation = simulation;
    // The old anchor would move the new clock to the old clock's time.
    this.wallClock.anchor();
    this.activity.attach();
    this.onReplaced?.();
  }

  /** Opens the ports. Throws a PortInUseError or a ListenError. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    if (this.#opening !== undefined) {
      throw new Error('this simulator listens already: call close() first');
    }
    const isRecorded = this.#worldJournal.journal?.isFile === true;
    const isScaled = this.wallClock.mode === 'scaled';
    const transport = options.transport ?? defaultTransport({ isRecorded, isScaled });
    this.#opening = openPorts(this, { ...options, transport });
    this.#ports = await this.#opening.catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    this.#onShutdown = options.onShutdown;
    return this.#ports.listening;
  }

  readyFile(): ReadyFile {
    return {
      base_url: this.baseUrl,
      control_url: this.controlUrl || null,
      pid: process.pid,
      seed: this.settings.seed,
      ...readyNumbers(this.simulation.world, always),
    };
  }

  get isWaitedFor(): boolean {
    return this.activity.openStreams > 0 || this.waits.size > 0;
  }

  shutdown(): void {
    if (this.#onShutdown === undefined) void this.close();
    else this.#onShutdown();
  }

  /** Stops accepting requests, finishes those in flight, and releases everything. */
  async close(): Promise<void> {
    this.isClosing = true;
    const closing = conflict('the simulator is closing');
    for (const endWait of this.waits) endWait(closing);
    this.#inProcess.close();
    if (this.hostedWorlds.isFirst(this)) await this.hostedWorlds.close();
    // Also ports that `listen` is still opening.
    const ports = await this.#opening?.catch(() => undefined);
    await ports?.close();
    this.#ports = undefined;
    this.#opening = undefined;
    await this.#stop();
  }

  simulationAtStart(startMs: number): Simulation {
    const simulation = this.makeSimulation(this.settings, startMs);
    const { keyRing, keys } = simulation.world;
    if (this.#keyDigests.size > 0)
      keyRing.forgetTexts(keys.values(), this.#keyDigests, digestOfKey);
    return simulation;
  }

  /** The worlds of a server that starts with this one; the others share some of its options. */
  #createHostedWorlds(
    options: InternalOptions,
    folder: JournalFolder | undefined,
  ): Worlds<Simulator> {
    const { journalMaxBytes, onNotice, simulation, share } = options;
    // Called after the constructor has set `hostedWorlds`.
    const create = (settings: SettingsInput, worldOptions: InternalOptions) => {
      const shared = { journalMaxBytes, onNotice, simulation, hostedWorlds: this.hostedWorlds };
      return new Simulator(settings, { ...worldOptions, ...shared });
    };
    return new Worlds<Simulator>(this, create, { folder, share });
  }

  /** The replayed inputs came to an earlier process: the counts of this one start at 0. */
  #restartCounts(): void {
    this.exchangeRecord.counts = new RequestCounts();
    this.#messageCounts = new MessageCounts();
  }

  /** Counts the events of `simulation` from now on, and reports its overload. */
  #countEventsOf({ lifecycle, world }: Simulation, previouslyForgotten: number): void {
    this.#messageCounts.noteReplaced(previouslyForgotten, world.messages.retention);
    world.messages.retention.onOverloaded = this.#onOverloaded;
    lifecycle.counts = this.#messageCounts;
  }

  async #stop(): Promise<void> {
    this.wallClock.stop();
    this.simulation.stop();
    this.activity.close();
    await this.#worldJournal.close();
  }
}

/** Undoes the steps of a start that failed, the last one first. Their own errors are dropped. */
function undoAll(steps: readonly (() => unknown)[]): void {
  // Async, so that a step that throws rejects, too.
  for (const step of steps.toReversed()) void (async () => step())().catch(() => {});
}

function throwIfFailed(failure: Error | undefined): void {
  if (failure !== undefined) throw failure;
}
