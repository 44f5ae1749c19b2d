/**
 * The comparison: starts each server several times by itself, then runs all at once and loads them
 * in turn, in short rounds whose order alternates.
 */
import { saturate } from '../../bench/load/saturate.ts';
import { type Round, roundOf } from '../../bench/measure.ts';
import { ContenderProcess, type Kind } from './contender-process.ts';
import type { Contender } from './contenders.ts';
import type { Installed } from './install.ts';
import type { SimulatorReplies } from './simulator-replies.ts';

export interface Entrant {
  readonly contender: Contender;
  readonly installed: Installed;
}

/** The measurements of one server. */
export interface Findings {
  readonly startsMs: number[];
  idleRssBytes: number;
  loadedRssBytes: number;
  readonly rounds: Readonly<Record<Kind, Round[]>>;
  /** Sends answered 202, the warm-up included. */
  sends: number;
}

export const connections = 64;
const starts = 5;
const roundMs = 1_000;
const warmUp = { durationMs: 3_000, requests: 30_000 };
/** Lets a server collect the garbage of its start. */
const settleMs = 1_000;
const preloadWithinMs = 60_000;

export class Comparison {
  readonly #entrants: readonly Entrant[];
  readonly #replies: SimulatorReplies;
  readonly #onProgress: (line: string) => void;
  readonly findings: ReadonlyMap<Contender, Findings>;

  constructor(
    entrants: readonly Entrant[],
    replies: SimulatorReplies,
    onProgress: (line: string) => void,
  ) {
    this.#entrants = entrants;
    this.#replies = replies;
    this.#onProgress = onProgress;
    this.findings = new Map(entrants.map(({ contender }) => [contender, nothingYet()]));
  }

  async run(rounds: number): Promise<void> {
    for (let start = 1; start <= starts; start++) {
      for (const entrant of this.#entrants) {
        const { name, preload } = entrant.contender;
        // Contenders that differ only in their preload start alike, so one of them is enough.
        if (preload > 0) continue;
        this.#onProgress(`${name}: start ${start} of ${starts}`);
        const server = await this.#start(entrant);
        this.#of(server).startsMs.push(server.startedMs);
        await server.stop();
      }
    }
    const servers: ContenderProcess[] = [];
    try {
      for (const entrant of this.#entrants) {
        if (!entrant.contender.isLoaded) continue;
        const server = await this.#start(entrant);
        servers.push(server);
        await this.#prepare(server);
      }
      await this.#load(servers, rounds);
      for (const server of servers) this.#of(server).loadedRssBytes = rssOf(server);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }

  async #prepare(server: ContenderProcess): Promise<void> {
    const { name, preload } = server.contender;
    if (preload > 0) {
      this.#onProgress(`${name}: ${preload} messages`);
      const { sends } = this.#of(server);
      // The check of the first reply has sent one message.
      const bounds = { durationMs: preloadWithinMs, requests: preload - sends };
      const { load } = await this.#round(server, 'send', bounds);
      if (load.errors > 0 || load.requests < bounds.requests) {
        throw new Error(`${name}: ${load.requests} of ${preload} messages, ${load.errors} errors`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    this.#of(server).idleRssBytes = rssOf(server);
    await server.prepareReads();
  }

  async #load(servers: readonly ContenderProcess[], rounds: number): Promise<void> {
    for (let round = 0; round <= rounds; round++) {
      const isWarmUp = round === 0;
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
        const { name } = server.contender;
        this.#onProgress(`${name}: ${isWarmUp ? 'warming up' : `round ${round} of ${rounds}`}`);
        for (const kind of ['send', 'read'] as const) {
          const found = await this.#round(
            server,
            kind,
            isWarmUp ? warmUp : { durationMs: roundMs },
          );
          if (!isWarmUp) this.#of(server).rounds[kind].push(found);
        }
      }
    }
  }

  async #round(
    server: ContenderProcess,
    kind: Kind,
    bounds: { readonly durationMs: number; readonly requests?: number },
  ): Promise<Round> {
    const before = server.usage();
    let after = before;
    const whenOver = (): void => {
      after = server.usage();
    };
    const load = await saturate(server.target, server.workload(kind), {
      connections,
      ...bounds,
      whenOver,
    });
    if (kind === 'send') this.#of(server).sends += load.statuses[202] ?? 0;
    if (before === undefined || after === undefined) throw endedByItself(server);
    return roundOf(load, after.cpuMicros - before.cpuMicros, after.rssBytes);
  }

  async #start({ contender, installed }: Entrant): Promise<ContenderProcess> {
    const server = await ContenderProcess.start(contender, installed, this.#replies);
    this.#of(server).sends = 1;
    return server;
  }

  #of({ contender }: { readonly contender: Contender }): Findings {
    const found = this.findings.get(contender);
    if (found === undefined) throw new Error(`${contender.name} is not in this comparison`);
    return found;
  }
}

function rssOf(server: ContenderProcess): number {
  const usage = server.usage();
  if (usage === undefined) throw endedByItself(server);
  return usage.rssBytes;
}

function endedByItself({ contender }: ContenderProcess): Error {
  return new Error(`${contender.name} exited during the comparison`);
}

function nothingYet(): Findings {
  return {
    startsMs: [],
    idleRssBytes: Number.NaN,
    loadedRssBytes: Number.NaN,
    rounds: { send: [], read: [] },
    sends: 0,
  };
}
