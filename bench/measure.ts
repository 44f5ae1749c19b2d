/**
 * Measures one case together with its floors: one process per server, all running at once, loaded
 * in turn in short rounds whose order alternates. Only medians of rounds and ratios within a run
 * count: other work on the machine affects all three alike.
 */
import { UsageError } from '../src/commands/command-error.ts';
import { whyNoNativeServer } from '../src/http/transport/open-transport.ts';
import type { LoadResult } from './load/load-result.ts';
import { median } from './load/load-result.ts';
import { runLoad } from './load/run-load.ts';
import { Ordinals, type Workload } from './load/workload.ts';
import type { BenchOptions } from './options.ts';
import type { BenchCase } from './scenarios/bench-case.ts';
import type { FloorReply } from './servers/messages.ts';
import { fewestRead } from './servers/remote-server.ts';
import { type LoadedServer, ServerProcess } from './servers/server-process.ts';

interface MeasureOptions extends LoadOptions {
  readonly onProgress: (line: string) => void;
  /** Starts the service; by default a simulator in its own process. */
  readonly startService?: (benchCase: BenchCase, held: number) => Promise<LoadedServer>;
}

type LoadOptions = Pick<
  BenchOptions,
  'durationMs' | 'rounds' | 'warmUpRequests' | 'connections' | 'perSecond' | 'held'
>;

export interface Round {
  readonly load: LoadResult;
  /** NaN if the server's process is not our own. */
  readonly cpuMicrosPerRequest: number;
  readonly rssBytes: number;
  /** Cores that the server's process kept busy. */
  readonly serverCores: number;
}

export const servers = ['service', 'hyperexpress', 'raw'] as const;
export type ServerName = (typeof servers)[number];

export interface Measurement {
  readonly case: BenchCase;
  /** Empty for the floors if there are no floors. */
  readonly rounds: Readonly<Record<ServerName, readonly Round[]>>;
  /** Why there are no floors: the native server cannot be loaded. */
  readonly withoutFloors: string | undefined;
  readonly startMs: number;
  readonly idleRssBytes: number;
}

const warmUpMs = 4_000;

/**
 * Both floors answer with the seven fields of a message; a 429 is also compared with an accepted
 * send.
 */
const reply: FloorReply = {
  postStatus: 202,
  body: {
    status: 'queued',
    message_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
    request_id: '',
    device_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    from_number: '+12025550101',
    to: '+12025550199',
    created_at: '2026-01-01T00:00:00.000Z',
  },
};

export async function measure(benchCase: BenchCase, options: MeasureOptions): Promise<Measurement> {
  const processes: Partial<Record<ServerName, LoadedServer>> = {};
  try {
    const service = await (options.startService ?? startOwn)(benchCase, options.held);
    processes.service = service;
    const idleRssBytes = (await service.usage())?.rssBytes ?? Number.NaN;
    const withoutFloors = await whyNoNativeServer();
    if (withoutFloors === undefined) {
      processes.hyperexpress = await ServerProcess.start({ kind: 'hyperexpress', reply });
      processes.raw = await ServerProcess.start({ kind: 'raw', reply });
    }
    const rounds: Record<ServerName, Round[]> = { service: [], hyperexpress: [], raw: [] };
    const roundMs = options.durationMs / options.rounds;
    for (let round = 0; round <= options.rounds; round++) {
      const isWarmUp = round === 0;
      const order = round % 2 === 0 ? servers : servers.toReversed();
      for (const name of order) {
        // The raw floor is only context, so every other round is enough.
        if (name === 'raw' && !isWarmUp && round % 2 === 0) continue;
        const server = processes[name];
        if (server === undefined) continue;
        const stage = isWarmUp ? 'warming up' : `round ${round} of ${options.rounds}`;
        options.onProgress(`${benchCase.name}: ${name}, ${stage}`);
        const { apiKey, from } = service.started;
        const caller = { apiKey, from, to: '+12025550199', messageIds: service.messageIds };
        const workload = benchCase.workload(caller);
        const result = await runRound(
          server,
          name === 'service' ? workload : { ...workload, expects: [200, reply.postStatus] },
          isWarmUp
            ? { durationMs: warmUpMs, requests: options.warmUpRequests }
            : { durationMs: roundMs },
          options,
        );
        // Repeated 401s end in 429s, which a case may expect, so the warm-up reports the 401.
        if (name === 'service' && result.load.statuses['401'] !== undefined)
          throw new UsageError(`${benchCase.name}: the API key was refused (401)`);
        if (!isWarmUp) rounds[name].push(result);
      }
    }
    const startMs = service.started.startedMs;
    return { case: benchCase, rounds, withoutFloors, startMs, idleRssBytes };
  } finally {
    await Promise.all(Object.values(processes).map((process) => process.stop()));
  }
}

async function runRound(
  server: LoadedServer,
  workload: Workload,
  bounds: { readonly durationMs: number; readonly requests?: number },
  { connections, perSecond }: MeasureOptions,
): Promise<Round> {
  const before = await server.usage();
  let after = Promise.resolve(before);
  const whenOver = (): void => {
    after = server.usage();
  };
  // The warm-up is a number of requests, so it has no rate.
  const rate = bounds.requests === undefined ? { perSecond } : {};
  const load = { connections, ...bounds, ...rate, whenOver };
  const result = await runLoad(server.target, workload, load, new Ordinals());
  const usage = await after;
  const cpu = (usage?.cpuMicros ?? Number.NaN) - (before?.cpuMicros ?? Number.NaN);
  return roundOf(result, cpu, usage?.rssBytes ?? Number.NaN);
}

/** `cpuMicros`: CPU time of the server's process for the whole load. */
export function roundOf(load: LoadResult, cpuMicros: number, rssBytes: number): Round {
  return {
    load,
    cpuMicrosPerRequest: cpuMicros / Math.max(1, load.requests),
    rssBytes,
    serverCores: cpuMicros / 1_000 / load.durationMs,
  };
}

function startOwn({ settings, reads }: BenchCase, held: number): Promise<LoadedServer> {
  const preload = reads ? Math.max(held, fewestRead) : held;
  return ServerProcess.start({ kind: 'simulator', settings, preload });
}

/** The median of the rounds. */
export function cpuOf(rounds: readonly Round[]): number {
  return median(rounds.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest));
}

export function throughputOf(rounds: readonly Round[]): number {
  return median(rounds.map(({ load }) => (load.requests / load.durationMs) * 1_000));
}
