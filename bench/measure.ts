/**
 * Measures one case: the service, and the floor that it is compared with, which is a bare handler.
 * Each server has a process of its own. Both run at once and are loaded in turn, in short rounds
 * whose order alternates, so that other work on the machine affects both alike. Only medians of
 * rounds and ratios within a run count.
 */
import { UsageError } from '#io/command-error.ts';
import { whyNoNativeServer } from '#src/http/transport/open-transport.ts';
import { runLoad } from './load/run-load.ts';
import type { Load, Workload } from './load/workload.ts';
import type { BenchOptions } from './options.ts';
import { type BenchCase, workloadOf } from './scenarios/bench-case.ts';
import { runningService } from './servers/running-service.ts';
import { type LoadedServer, startServer } from './servers/server-process.ts';

export type Round = Awaited<ReturnType<typeof runRound>>;

export const servers = ['service', 'hyperexpress'] as const;
export type ServerName = (typeof servers)[number];

export type Measurement = Awaited<ReturnType<typeof measure>>;

type RunningServers = Partial<Record<ServerName, LoadedServer>>;

const warmUpMs = 4_000;
/** The messages that a case of reads needs. A running service gets no more than these. */
const fewestRead = 200;

export async function measure(
  benchCase: BenchCase,
  options: BenchOptions,
  onProgress: (line: string) => void,
) {
  const service = await startService(benchCase, options);
  const running: RunningServers = { service };
  try {
    const idleRssBytes = (await service.usage())?.rssBytes ?? Number.NaN;
    const withoutFloor = await whyNoNativeServer();
    if (withoutFloor === undefined)
      running.hyperexpress = await startServer({ kind: 'hyperexpress' });
    const { started, messageIds } = service;
    const caller = { ...started, to: '+12025550199', messageIds };
    const mayLimit = options.baseUrl !== undefined;
    const makeWorkload = () => workloadOf(benchCase, caller, { mayLimit });
    const onLoad = (line: string) => onProgress(`${benchCase.name}: ${line}`);
    const rounds = await loadInTurn(running, options, makeWorkload, onLoad);
    if (rounds === undefined)
      throw new UsageError(`${benchCase.name}: the API key was refused (401)`);
    return {
      case: benchCase,
      rounds,
      withoutFloor,
      startMs: started.startDurationMs,
      idleRssBytes,
    };
  } finally {
    await Promise.all(Object.values(running).map((server) => server.stop()));
  }
}

/** The service under load: a simulator in a child process, or a running service (`base_url`). */
function startService(
  { settings, reads }: BenchCase,
  options: BenchOptions,
): Promise<LoadedServer> {
  const { baseUrl, held } = options;
  if (baseUrl !== undefined) return runningService(baseUrl, options, reads ? fewestRead : 0);
  const preload = reads ? Math.max(held, fewestRead) : held;
  return startServer({ kind: 'simulator', settings, preload });
}

/** Loads the servers in turn. Undefined if the service refused the key: the load then ends. */
async function loadInTurn(
  running: RunningServers,
  options: BenchOptions,
  makeWorkload: () => Workload,
  onProgress: (line: string) => void,
): Promise<Record<ServerName, Round[]> | undefined> {
  const { durationMs, rounds: roundCount, connections, perSecond } = options;
  const names = servers.filter((name) => running[name] !== undefined);
  const rounds: Record<ServerName, Round[]> = { service: [], hyperexpress: [] };
  // The warm-up is a number of requests, so it has no rate.
  const warmUp = { connections, durationMs: warmUpMs, requests: options.warmUpRequests };
  const load = { connections, durationMs: durationMs / roundCount, perSecond };
  let loads = 0;
  for (let number = 0; number <= roundCount; number++) {
    const stage = number === 0 ? 'warming up' : `round ${number} of ${roundCount}`;
    for (const name of number % 2 === 0 ? names : names.toReversed()) {
      loads++;
      onProgress(`${name}, ${stage} (${loads} of ${(roundCount + 1) * names.length})`);
      const workload = makeWorkload();
      const expects = name === 'service' ? workload.expects : [200, 202];
      const server = running[name] as LoadedServer;
      const round = await runRound(server, { ...workload, expects }, number === 0 ? warmUp : load);
      // After many 401s the service answers 429, which a case may expect; the 401s show first.
      if (name === 'service' && round.load.statuses['401'] !== undefined) return undefined;
      if (number > 0) rounds[name].push(round);
    }
  }
  return rounds;
}

/** The service, the floor or another server under one load. */
export async function runRound(
  server: Pick<LoadedServer, 'target' | 'usage'>,
  workload: Workload,
  options: Load,
) {
  const before = await server.usage();
  let after = Promise.resolve(before);
  const whenOver = (): void => {
    after = server.usage();
  };
  const load = await runLoad(server.target, workload, { ...options, whenOver });
  const usage = await after;
  const cpu = (usage?.cpuMicros ?? Number.NaN) - (before?.cpuMicros ?? Number.NaN);
  return {
    load,
    /** NaN if the bench did not start the server. */
    cpuMicrosPerRequest: cpu / Math.max(1, load.requests),
    rssBytes: usage?.rssBytes ?? Number.NaN,
  };
}

/** CPU microseconds per request: the median of the rounds. */
export function cpuOf(rounds: readonly Round[]): number {
  return median(rounds.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest));
}

/** Replies per second: the median of the rounds. */
export function throughputOf(rounds: readonly Round[]): number {
  return median(rounds.map(({ load }) => (load.requests / load.durationMs) * 1_000));
}

/** The middle value, or the mean of the two middle values; NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}
