/**
 * What the package exports as `smstwin`. The object behind `Simulator` can do more; what is
 * declared here is what users may hold on to. `verify/build/public-types.ts` writes the types of
 * the methods, with a comment for each field, from the operations.
 */
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { SettingsError } from '#io/mistakes.ts';
import type { SettingsInput } from './config/settings.ts';
import type { Activity } from './operations/events/activity.ts';
import type { NounMethods } from './operations/table.ts';
import type { Listening, ListenOptions } from './ports.ts';
import {
  type ReadyFile,
  Simulator as RunningSimulator,
  type SimulatorOptions,
} from './simulator.ts';

export type { ApiReply, ApiRequest, Delivery } from '#contract/request-and-reply.ts';
export { ListenError, PortInUseError } from '#io/command-error.ts';
export { SettingsError } from '#io/mistakes.ts';
export {
  type MatcherResult,
  type PassRefereeOptions,
  toPassReferee,
} from '#judging/client/report-json.ts';
export { JournalError } from '#judging/evidence/journal-line.ts';
export type { SettingsInput } from './config/settings.ts';
export type { ControlOptions, Listening, ListenOptions } from './ports.ts';
export { OperationRefused } from './sim/errors.ts';
export type { ReadyFile, SimulatorOptions } from './simulator.ts';

/** One simulated service. Its methods are the operations of the control port. */
export interface Simulator {
  /** Simulated time: read it, move it, and set what moves it. */
  readonly clock: NounMethods['clock'];
  /** Accounts and their API keys. */
  readonly accounts: NounMethods['accounts'];
  /** SIMs, the shared pool, and inbound messages. */
  readonly sims: NounMethods['sims'];
  /** Accepted messages: find them, wait for them, step them, make them fail. */
  readonly messages: NounMethods['messages'];
  /** Requests per minute of each endpoint. */
  readonly limits: NounMethods['limits'];
  /** The answers where the document is silent. */
  readonly assumptions: NounMethods['assumptions'];
  /** What becomes of a message, by its recipient. */
  readonly outcomes: NounMethods['outcomes'];
  /** Injected failures: delays, errors, lost replies. */
  readonly faults: NounMethods['faults'];
  /** The last requests to the service, with their replies. */
  readonly requests: NounMethods['requests'];
  /** Makes a request to the service with the key of an account. */
  readonly exchanges: NounMethods['exchanges'];
  /** Judges the client by what it sent so far; `sim.referee.restart()` starts anew. */
  readonly referee: NounMethods['referee']['judge'] & Pick<NounMethods['referee'], 'restart'>;
  /** The whole state: take it, and continue from it. */
  readonly snapshots: NounMethods['snapshots'];
  /** The world as of an earlier instant, rebuilt from its journal. */
  readonly past: NounMethods['past'];
  /** Isolated simulators beside this one, on the same ports. */
  readonly worlds: NounMethods['worlds'];
  /** Counts of what the simulator holds. */
  readonly state: NounMethods['simulator']['state'];
  /** Checks all invariants: what was checked, and what is broken. */
  readonly invariants: NounMethods['simulator']['invariants'];
  /** The metrics for Prometheus, as values and without those of the process. */
  readonly metrics: NounMethods['simulator']['metrics'];
  /** Restores the start state, clock included. */
  readonly reset: NounMethods['simulator']['reset'];
  /** `listen(kind, listener)` calls the listener for every event of a kind; returns how to stop. */
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

const optionNames: readonly string[] = [
  'journal',
  'journalDir',
  'journalMaxBytes',
  'onNotice',
] satisfies readonly (keyof SimulatorOptions)[];

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
