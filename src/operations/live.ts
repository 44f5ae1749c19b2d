/**
 * The simulator as operations see it. A reset or a restore replaces the simulation, so operations
 * ask for it at each call and never keep it.
 */
import type { Delivery } from '../http/service/messages.ts';
import type { OperationRefused } from '../sim/operation-refused.ts';
import type { Counts } from '../simulation/metrics/families.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WorldSimulator, Worlds } from '../worlds/worlds.ts';
import type { Activity } from './activity.ts';

export interface Live extends WorldSimulator {
  readonly activity: Activity;
  readonly counts: Counts;
  /** The open waits in real time; closing the simulator ends them. */
  readonly waits: Set<(end: OperationRefused) => void>;
  readonly hosting: Worlds<Live>;
  /** The URL of the service; empty while it does not listen. */
  readonly baseUrl: string;
  /** The URL of the control port; empty while it does not listen. */
  readonly controlUrl: string;
  /** The URLs for a client that reached the control port by this `Host`; empty as the two above. */
  urlsFor(host: string | undefined): { readonly baseUrl: string; readonly controlUrl: string };
  /**
   * Runs one input that changes state: first moves simulated time to the present, then records the
   * operation's name and arguments (JSON values, which a replay uses). `recorded`: the part of the
   * result that journals compare.
   */
  change<T>(
    name: string,
    args: readonly unknown[],
    act: () => T,
    recorded?: (result: T) => unknown,
  ): T;
  /** A simulation in the start state, at another simulated time. */
  freshSimulation(startMs: number): Simulation;
  /** Reports that a delayed reply of any world was sent, or that its client has gone. */
  replyFinished(delivery: Delivery, isSeen: boolean): void;
  /** Why the world's inputs can no longer be recorded, and all its requests fail. */
  readonly journalFailure: string | undefined;
  /** The run as NDJSON: since the start, or without a journal file since the last reset. */
  journalText(): string;
  /** Stops the process as SIGTERM does. */
  shutdown(): void;
}
