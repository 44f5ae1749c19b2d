/**
 * What the package exports as `smstwin`. The object behind `Simulator` can do more; what is declared
 * here is what users may hold on to. `scripts/public-types.ts` writes the types of the methods, with
 * a comment for each field, from the operations.
 */
import { SettingsError } from './config/mistakes.ts';
import type { SettingsInput } from './config/settings.ts';
import type { ApiReply, ApiRequest } from './http/service/messages.ts';
import type { accounts } from './operations/accounts.ts';
import type { Activity } from './operations/activity.ts';
import type { assumptions } from './operations/assumptions.ts';
import type { clock } from './operations/clock.ts';
import type { Methods } from './operations/define.ts';
import type { exchanges } from './operations/exchanges.ts';
import type { faults } from './operations/faults.ts';
import type { limits } from './operations/limits.ts';
import type { messages } from './operations/messages.ts';
import type { outcomes } from './operations/outcomes.ts';
import type { past } from './operations/past.ts';
import type { referee } from './operations/referee.ts';
import type { requests } from './operations/requests.ts';
import type { sims } from './operations/sims.ts';
import type { simulator } from './operations/simulator.ts';
import type { snapshots } from './operations/snapshots.ts';
import type { worlds } from './operations/worlds.ts';
import type { Listening, ListenOptions } from './ports.ts';
import {
  type ReadyFile,
  Simulator as RunningSimulator,
  type SimulatorOptions,
} from './simulator.ts';

export { SettingsError } from './config/mistakes.ts';
export type { SettingsInput } from './config/settings.ts';
export type { ApiReply, ApiRequest, Delivery } from './http/service/messages.ts';
export { ListenError, PortInUseError } from './http/transport/transport.ts';
export type { ControlOptions, Listening, ListenOptions } from './ports.ts';
export { JournalError } from './recording/journal-error.ts';
export { type MatcherResult, type PassRefereeOptions, toPassReferee } from './referee/matcher.ts';
export { OperationRefused } from './sim/operation-refused.ts';
export type { ReadyFile, SimulatorOptions } from './simulator.ts';

/** One simulated service. Its methods are the operations of the control port. */
export interface Simulator {
  /** Simulated time: read it, move it, and set what moves it. */
  readonly clock: Methods<typeof clock>;
  /** Accounts and their API keys. */
  readonly accounts: Methods<typeof accounts>;
  /** SIMs, the shared pool, and inbound messages. */
  readonly sims: Methods<typeof sims>;
  /** Accepted messages: find them, wait for them, step them, make them fail. */
  readonly messages: Methods<typeof messages>;
  /** Requests per minute of each endpoint. */
  readonly limits: Methods<typeof limits>;
  /** The answers where the document is silent. */
  readonly assumptions: Methods<typeof assumptions>;
  /** What becomes of a message, by its recipient. */
  readonly outcomes: Methods<typeof outcomes>;
  /** Injected failures: delays, errors, lost replies. */
  readonly faults: Methods<typeof faults>;
  /** The last requests to the service, with their replies. */
  readonly requests: Methods<typeof requests>;
  /** Makes a request to the service with the key of an account. */
  readonly exchanges: Methods<typeof exchanges>;
  /** Judges the client by what it sent so far; `sim.referee.restart()` starts anew. */
  readonly referee: Methods<typeof referee>['judge'] & Pick<Methods<typeof referee>, 'restart'>;
  /** The whole state: take it, and continue from it. */
  readonly snapshots: Methods<typeof snapshots>;
  /** The world as of an earlier instant, rebuilt from its journal. */
  readonly past: Methods<typeof past>;
  /** Isolated simulators beside this one, on the same ports. */
  readonly worlds: Methods<typeof worlds>;
  /** Counts of what the simulator holds. */
  readonly state: Methods<typeof simulator>['state'];
  /** Checks all invariants: what was checked, and what is broken. */
  readonly invariants: Methods<typeof simulator>['invariants'];
  /** The metrics for Prometheus, as values and without those of the process. */
  readonly metrics: Methods<typeof simulator>['metrics'];
  /** Restores the start state, clock included. */
  readonly reset: Methods<typeof simulator>['reset'];
  /** `listen(kind, listener)` calls for every event of a kind; returns what removes the listener. */
  readonly activity: Pick<Activity, 'listen'>;
  /** A standard `fetch` that answers in this process, without a port; the origin is ignored. */
  readonly fetch: typeof globalThis.fetch;
  /** The URL of the service; empty while it does not listen. */
  readonly baseUrl: string;
  /** The URL of the control port; empty while it does not listen. */
  readonly controlUrl: string;
  /** Answers one request of the service, without a socket. */
  handle(request: ApiRequest): ApiReply;
  /** Opens the ports. Rejects with a PortInUseError or a ListenError. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Where it listens, and the keys and numbers to use. */
  readyFile(): ReadyFile;
  /** The run as NDJSON: every input since the start, the last reset or the last checkpoint. */
  journalText(): string;
  /** Stops the serving process as SIGTERM does; without one, the same as `close`. */
  shutdown(): void;
  /** Finishes the requests in flight, and releases everything. */
  close(): Promise<void>;
}

const optionNames = ['journal', 'journalDir', 'journalMaxBytes', 'onNotice'];

/**
 * Creates a simulator; it opens no port before `listen`. Rejects with a SettingsError that lists
 * every mistake, or with a JournalError.
 */
export async function createSimulator(
  settings: SettingsInput = {},
  options: SimulatorOptions = {},
): Promise<Simulator> {
  const unknown = Object.keys(options).filter((name) => !optionNames.includes(name));
  if (unknown.length > 0) {
    const message = `this option is not known here; use ${optionNames.join(', ')}`;
    throw new SettingsError(unknown.map((path) => ({ path, message })));
  }
  return new RunningSimulator(settings, options);
}
