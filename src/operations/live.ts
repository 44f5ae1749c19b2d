/**
 * The simulator as operations see it. A reset or a restore replaces the simulation, so operations
 * ask for it at each call and never keep it.
 */
import type { Settings } from '../config/settings.ts';
import type { ApiReply, ApiRequest, Delivery } from '../http/service/messages.ts';
import type { Counts } from '../metrics/families.ts';
import type { ExchangeRecord } from '../referee/exchange-record.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import type { WorldSimulator, Worlds } from '../worlds/worlds.ts';
import type { Activity } from './activity.ts';
import type { OpenWaits } from './open-waits.ts';
import type { RequestLog } from './request-log.ts';

export interface Live extends WorldSimulator {
  readonly settings: Settings;
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  readonly activity: Activity;
  readonly requestLog: RequestLog;
  readonly exchangeRecord: ExchangeRecord;
  readonly counts: Counts;
  readonly waits: OpenWaits;
  readonly hosting: Worlds<Live>;
  /** Where the service listens; empty while it does not. */
  readonly baseUrl: string;
  /** Where the control port listens; empty while it does not. */
  readonly controlUrl: string;
  /**
   * Runs one input that changes state: pulls simulated time up to the present, and records the
   * operation's name and arguments (JSON values, from which `play` runs it again). `recorded`: the
   * part of the result that journals compare.
   */
  change<T>(
    name: string,
    args: readonly unknown[],
    act: () => T,
    recorded?: (result: T) => unknown,
  ): T;
  /** Puts another simulation in the place of this one. */
  replace(simulation: Simulation): void;
  /** The simulation as it was at the start, at another simulated time. */
  freshSimulation(startMs: number): Simulation;
  /** Where simulated time starts now. */
  startMs(): number;
  /** Answers one request of the service. */
  handle(request: ApiRequest): ApiReply;
  /** A reply of any world that a fault delayed has left, or its client has gone. */
  left(delivery: Delivery, isSeen: boolean): void;
  /** The run since the start, or without a journal file since the last reset, as NDJSON. */
  journalText(): string;
  /** As a SIGTERM to the process. */
  shutdown(): void;
}
