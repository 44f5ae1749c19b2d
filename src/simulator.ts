/**
 * The composition root: a simulator as a value that a test or a process holds.
 * Everything the control port can do is a method here first, in the same words and shapes.
 */
import type { ApiReply, ApiRequest } from './http/messages.ts';
import { AccountLevers } from './levers/accounts.ts';
import { Activity } from './levers/activity.ts';
import { AssumptionLevers, LimitLevers, OutcomeLevers } from './levers/behaviour.ts';
import { ClockLevers } from './levers/clock.ts';
import { ExchangeLevers } from './levers/exchanges.ts';
import { FaultLevers } from './levers/faults.ts';
import type { Live } from './levers/live.ts';
import { MessageLevers } from './levers/messages.ts';
import { RequestLevers } from './levers/requests.ts';
import { SimLevers } from './levers/sims.ts';
import type { State } from './levers/state.ts';
import { Waits } from './levers/wait.ts';
import { type Listening, type ListenOptions, openPorts, type Ports } from './ports.ts';
import { statuses } from './sim/message.ts';
import { parseSettings, type Settings, type SettingsInput } from './sim/settings.ts';
import { Simulation } from './simulation.ts';
import { WallClock } from './wall-clock.ts';

export type { ApiReply, ApiRequest } from './http/messages.ts';
export { LeverError } from './sim/lever-error.ts';
export { SettingsError } from './sim/mistakes.ts';
export type { SettingsInput } from './sim/settings.ts';

/** What `--ready-file` holds: where the simulator listens, and what to use it with. */
export interface ReadyFile {
  readonly base_url: string;
  readonly control_url: string | null;
  readonly pid: number;
  readonly seed: number;
  readonly accounts: readonly {
    readonly name: string;
    readonly account_id: string;
    /** The first key; empty where the account has none. */
    readonly api_key: string;
    readonly sims: readonly ReadyNumber[];
  }[];
  readonly pool: readonly ReadyNumber[];
}

interface ReadyNumber {
  readonly number: string;
  readonly device_id: string;
}

export class Simulator implements Live {
  readonly settings: Settings;
  readonly wallClock: WallClock;
  readonly clock = new ClockLevers(this);
  readonly accounts = new AccountLevers(this);
  readonly sims = new SimLevers(this);
  readonly #waits = new Waits(this);
  readonly messages = new MessageLevers(this, this.#waits);
  readonly limits = new LimitLevers(this);
  readonly assumptions = new AssumptionLevers(this);
  readonly outcomes = new OutcomeLevers(this);
  readonly faults = new FaultLevers(this);
  readonly requests = new RequestLevers();
  readonly exchanges = new ExchangeLevers(this, (request) => this.handle(request));
  readonly activity: Activity = new Activity(this);
  simulation: Simulation;
  #ports: Ports | undefined;
  #onShutdown: (() => void) | undefined;

  /** Throws a SettingsError that lists every mistake. */
  constructor(settings: SettingsInput = {}) {
    this.settings = parseSettings(settings);
    this.simulation = this.#newSimulation();
    this.wallClock = new WallClock(
      () => this.simulation.clock,
      this.settings.clock,
      this.settings.rate,
    );
  }

  /** Answers one request of the service, without a socket. */
  handle(request: ApiRequest): ApiReply {
    const startedMs = WallClock.ticksMs();
    this.wallClock.pump();
    const { simulation } = this;
    const handled = simulation.handle(request);
    const tookMs = WallClock.ticksMs() - startedMs;
    this.requests.add(request, handled, simulation.clock.now(), tookMs);
    if (this.activity.isWatched) {
      const last = this.requests.last();
      if (last !== undefined) this.activity.publish('request', last);
    }
    return handled.reply;
  }

  change<T>(_lever: string, _args: readonly unknown[], act: () => T): T {
    this.wallClock.pump();
    return act();
  }

  state(): State {
    const clock = this.clock.state();
    const { world, fleet, faults } = this.simulation;
    const { rss, heapUsed } = process.memoryUsage();
    const counts = { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 };
    for (const account of world.accounts.values()) {
      for (const status of statuses) counts[status] += account.counts[status];
    }
    return {
      base_url: this.#ports?.listening.baseUrl ?? '',
      clock,
      seed: world.seed,
      accounts: world.accounts.size,
      sims: world.devices.size,
      messages: { total: world.messages.size, ...counts },
      actors: { running: fleet.size, awake: fleet.awake },
      timers: clock.pending,
      requests: this.requests.total,
      faults: faults.list.length,
      memory: { rss_bytes: rss, heap_used_bytes: heapUsed },
    };
  }

  /** The world as it was at start, clock included. */
  reset(): void {
    this.change('reset', [], () => {
      this.simulation.stop();
      this.simulation = this.#newSimulation();
      this.wallClock.setMode(this.settings.clock, this.settings.rate);
      this.activity.attach();
      this.activity.publish('clock', this.clock.state());
    });
  }

  /** Opens the ports. Throws a PortInUseError or a ListenError. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    if (this.#ports !== undefined) throw new Error('this simulator listens already');
    this.#ports = await openPorts(this, options);
    this.#onShutdown = options.onShutdown;
    return this.#ports.listening;
  }

  readyFile(): ReadyFile {
    const { world } = this.simulation;
    return {
      base_url: this.#ports?.listening.baseUrl ?? '',
      control_url: this.#ports?.listening.controlUrl ?? null,
      pid: process.pid,
      seed: this.settings.seed,
      accounts: [...world.accounts.values()].map((account) => ({
        name: account.name,
        account_id: account.accountId,
        api_key: account.keys[0]?.key ?? '',
        sims: account.devices.map(readyNumber),
      })),
      pool: world.pool.map(readyNumber),
    };
  }

  /** As a SIGTERM to the process that serves; without such a process, as `close`. */
  shutdown(): void {
    if (this.#onShutdown === undefined) void this.close();
    else this.#onShutdown();
  }

  /** Stops accepting, finishes what is in flight, and leaves nothing behind. */
  async close(): Promise<void> {
    this.#waits.close();
    await this.#ports?.close();
    this.#ports = undefined;
    this.wallClock.stop();
    this.simulation.stop();
  }

  #newSimulation(): Simulation {
    const { clock, startTimeMs } = this.settings;
    return new Simulation(this.settings, clock === 'manual' ? startTimeMs : WallClock.nowMs());
  }
}

/** Makes a simulator; no port is opened before `listen`. */
export async function createSimulator(settings: SettingsInput = {}): Promise<Simulator> {
  return new Simulator(settings);
}

function readyNumber(device: { readonly number: string; readonly deviceId: string }): ReadyNumber {
  return { number: device.number, device_id: device.deviceId };
}
