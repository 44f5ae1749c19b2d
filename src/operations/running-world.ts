/**
 * The simulator (one world) as operations see it. A reset or a restore replaces `simulation`, so an
 * operation reads it at each call and never keeps it.
 */
import type { Delivery } from '#contract/request-and-reply.ts';
import type { OperationRefused } from '../sim/errors.ts';
import type { Counts } from '../simulation/metrics/families.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WorldSimulator } from '../worlds/hosted-world.ts';
import type { Worlds } from '../worlds/worlds.ts';
import type { Activity } from './events/activity.ts';

export interface RunningWorld extends WorldSimulator {
  readonly activity: Activity;
  /** Counts since the start. They survive a reset, so Prometheus counters never decrease. */
  readonly counts: Counts;
  /** Functions that end the open waits (`messages.wait`); closing the simulator calls them. */
  readonly waits: Set<(reason: OperationRefused) => void>;
  /** All worlds of the server. */
  readonly hosting: Worlds<RunningWorld>;
  /** The URL of the service; empty while it does not listen. */
  readonly baseUrl: string;
  /** The URL of the control port; empty while it does not listen. */
  readonly controlUrl: string;
  /** The two URLs for a client that reached the control port by this `Host`. */
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
  /** Verb and path of an operation, with its id filled in. */
  routeOf(name: never, id?: string): { readonly method: string; readonly path: string };
  /** Records that a delayed reply of any world was sent or, if not seen, that its client left. */
  replyFinished(delivery: Delivery, isSeen: boolean): void;
  /** Why the journal can no longer be written; all requests of the world then fail. */
  readonly journalFailure: string | undefined;
  /** The run as NDJSON since the last checkpoint or, if memory keeps it, since the last reset. */
  journalText(): string;
  /** Stops the serving process as SIGTERM does; without one, closes the simulator. */
  shutdown(): void;
  /** True once it stops. */
  readonly isClosing: boolean;
}
