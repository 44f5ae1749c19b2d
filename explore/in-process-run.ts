/**
 * Runs a client function once in this process, against its own simulator on virtual time, which
 * replaces the timers and `Date`: a client's wait of a minute takes no real time. Time moves to the
 * next timer when the client has nothing else to do.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import fakeTimers from '@sinonjs/fake-timers';
import type { Schedule } from '#contract/fault-schedule.ts';
import { realTimers } from '#io/event-loop.ts';
import { latestByIntent, type ReportedIntent } from '#judging/client/intents-file.ts';
import { Simulation } from '#src/simulation/simulation.ts';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import {
  areTimersFake,
  clientTimers,
  fakeRestOfTime,
  untilQuiet,
} from '#src/testing/rest-of-time.ts';
import type { Ending, RawRun } from './client-run.ts';
import type { KnownIntents } from './points.ts';
import { credentialsOf, endingsIn, recordedBy, WatchedRun } from './watched-run.ts';

/** What a client under test is given. */
export interface ClientTools {
  /** Answers in this process; the origin of a URL is ignored. */
  readonly fetch: typeof globalThis.fetch;
  /** A URL for clients that need one. */
  readonly baseUrl: string;
  /** A key of the first account. */
  readonly apiKey: string;
  /** A number that the account may send from. */
  readonly from: string;
  /** Reports a message that the client means to send and, later, what it reported to its caller. */
  readonly intent: (line: ReportedIntent) => void;
}

/** Runs the client once; it fails if it throws or rejects. */
export type Client = (tools: ClientTools) => unknown;

export interface InProcessOptions {
  readonly client: Client;
  readonly settings: SettingsInput;
  /** How long `slow` holds a reply, on the simulated clock. */
  readonly slowMs: number;
  /** How long a run may take, on the simulated clock. */
  readonly timeoutMs: number;
}

const startMs = Date.parse('2026-01-01T00:00:00.000Z');
const baseUrl = 'http://smstwin.test';

export async function runInProcess(
  options: InProcessOptions,
  schedule: Schedule,
  knownIntents: KnownIntents,
  throttleWaits: readonly number[],
): Promise<RawRun> {
  const time = new VirtualTime(startMs);
  try {
    const watched = new WatchedRun(schedule, knownIntents, throttleWaits, options.slowMs);
    const timeoutMs = options.timeoutMs + watched.waitMs;
    const simulator = new Simulator(
      // VirtualTime fakes `Date`, so the simulator follows the client's virtual clock.
      { ...options.settings, clock: { now: () => Date.now() } },
      {
        journal: false,
        simulation: (settings, atMs) => {
          const simulation = new Simulation(settings, atMs);
          simulation.faults.chooseFault = watched.chooseFault;
          return simulation;
        },
      },
    );
    watched.recorded = () => recordedBy(simulator);
    watched.presentCall = () => presentCall.getStore();
    const client = new ClientRun(options.client, simulator, time, watched.lastCallBeforeReply);
    const endedInTime = await time.run(client, timeoutMs);
    const ending = client.end(endedInTime, timeoutMs);
    const { seen, intents } = watched;
    const endsUndelivered = endingsIn(simulator);
    return { ending, seen, intents, reports: client.reports, endsUndelivered };
  } finally {
    time.end();
  }
}

/** The number of the client's call of `fetch` that makes the present request. */
const presentCall = new AsyncLocalStorage<number>();

/** The client while it runs: its requests in flight, its reports, and how it ended. */
class ClientRun {
  readonly #lines: ReportedIntent[] = [];
  readonly #time: VirtualTime;
  readonly #lastCallBeforeReply: Map<number, number>;
  #calls = 0;
  /** The latest replies, with the number of timers that had fired when each came. */
  #latestReplies: { readonly call: number; readonly atMs: number; readonly fired: number }[] = [];
  #inFlight = 0;
  #ending: Ending | undefined;

  constructor(
    client: Client,
    simulator: Simulator,
    time: VirtualTime,
    lastCallBeforeReply: Map<number, number>,
  ) {
    this.#time = time;
    this.#lastCallBeforeReply = lastCallBeforeReply;
    const tools: ClientTools = {
      fetch: (input, init) => this.#fetch(simulator, input, init),
      baseUrl,
      ...credentialsOf(simulator.readyFile()),
      intent: (line) => {
        this.#lines.push({ ...line });
      },
    };
    // An async function also turns an error that the client throws at once into a rejection.
    const run = async () => client(tools);
    run().then(
      () => {
        this.#ending ??= { kind: 'passed', how: '', tail: '' };
      },
      (error: unknown) => {
        const { message = String(error), stack = '' } = error instanceof Error ? error : {};
        this.#ending ??= { kind: 'failed', how: `it threw: ${message}`, tail: stack };
      },
    );
  }

  get reports(): readonly ReportedIntent[] | undefined {
    return this.#lines.length === 0 ? undefined : latestByIntent(this.#lines);
  }

  readonly isOver = (): boolean => this.#ending !== undefined;
  /** True if the client waits for a reply. */
  readonly isWaiting = (): boolean => this.#inFlight > 0;

  /**
   * Ends the run: requests that the client still makes are never answered. A client that ended only
   * after the timeout still counts as timed out.
   */
  end(endedInTime: boolean, timeoutMs: number): Ending {
    const how = `the client did not end within ${timeoutMs / 1_000} s of simulated time`;
    const late: Ending = { kind: 'timeout', how, tail: '' };
    this.#ending ??= late;
    return endedInTime ? this.#ending : late;
  }

  async #fetch(simulator: Simulator, ...request: Parameters<typeof fetch>): Promise<Response> {
    if (this.#ending !== undefined) return new Promise(() => {});
    const call = ++this.#calls;
    const { fired } = this.#time;
    this.#latestReplies = this.#latestReplies.filter(({ atMs }) => atMs === Date.now());
    // Timers that are due at the same instant count as firing together, before a reply between
    // them.
    for (const reply of this.#latestReplies.filter((one) => one.fired < fired))
      this.#lastCallBeforeReply.set(reply.call, call);
    this.#inFlight++;
    try {
      return await presentCall.run(call, () => simulator.fetch(...request));
    } finally {
      this.#inFlight--;
      this.#lastCallBeforeReply.set(call, this.#calls);
      this.#latestReplies.push({ call, atMs: Date.now(), fired: this.#time.fired });
    }
  }
}

/** Real milliseconds between two checks of a client that waits for no timer. */
const checkEveryMs = 1;
/** A client that waits for a reply without a timer counts as hung after this real time. */
const mostHungMs = 20;
/** A client that waits for something else, for example a file, counts as hung after this time. */
const mostIdleMs = 5_000;

/** A client that runs on virtual time. */
interface RunningClient {
  readonly isOver: () => boolean;
  /** True if the client waits for a reply. */
  readonly isWaiting: () => boolean;
}

/** Replaces the timers and `Date` of this process until `end` is called. */
class VirtualTime {
  readonly #clock: fakeTimers.Clock;
  #fired = 0;
  /** Restores the process's own timers and `Date`. */
  readonly end: () => void;

  constructor(startMs: number) {
    if (areTimersFake())
      throw new Error('explore fakes the timers itself: call vi.useRealTimers() before it');
    this.#clock = fakeTimers.install({ now: startMs, toFake: [...clientTimers, 'hrtime'] });
    this.end = fakeRestOfTime(() => this.#clock.uninstall());
  }

  /** How many timers have fired. */
  get fired(): number {
    return this.#fired;
  }

  /**
   * Moves time from timer to timer. Resolves to true when the client has ended, and to false if it
   * has not after `timeoutMs`, or waits for something that cannot happen.
   */
  async run({ isOver, isWaiting }: RunningClient, timeoutMs: number): Promise<boolean> {
    const endMs = this.#clock.now + timeoutMs;
    let idleTurns = 0;
    for (;;) {
      await untilQuiet(isOver);
      if (isOver()) return true;
      if (this.#clock.countTimers() > 0) {
        idleTurns = 0;
        this.#fired++;
        await this.#clock.nextAsync();
        if (this.#clock.now > endMs) return false;
      } else {
        idleTurns++;
        if (idleTurns * checkEveryMs > (isWaiting() ? mostHungMs : mostIdleMs)) return false;
        await new Promise((resolve) => realTimers.setTimeout(resolve, checkEveryMs));
      }
    }
  }
}
