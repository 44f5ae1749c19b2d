/**
 * Holds thousands of idle connections open while callers send at the pace of their limit, and
 * reports the callers' latency: `npm run test:connections -- --count 10000 --seconds 20`.
 * Exit code 1: a 99th percentile of 50 ms or more, an unexpected reply, a lost connection, too few
 * open connections, or SIGTERM did not end the server within 5 s.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from '../../bench/load/load-result.ts';
import type { transports } from '../../src/cli/serve-options.ts';
import { FlagError, readFlags, runProgram, whole, word } from '../testkit/program-flags.ts';
import { ServedProcess } from '../testkit/served-process.ts';
import { idleClientsProcess, type Sighting } from './idle-clients-process.ts';
import { callSteadily } from './steady-callers.ts';

const mostP99Ms = 50;
/** The time that `serve` promises for SIGTERM. */
const endWithinMs = 5_000;
/** If more requests than this leave late, the machine is busy with other work. */
const mostLateShare = 0.01;
const perMinute = 120;
/** Clients per connection: some are always reconnecting after a timeout. */
const clientsPerConnection = 1.125;
/** The share that must stay open even just after a sweep of timeouts. */
const leastShare = 0.95;
/** Descriptors of a process besides its connections. */
const ownDescriptors = 500;

interface Plan {
  readonly count: number;
  readonly seconds: number;
  readonly callers: number;
  readonly streams: number;
  readonly transport: (typeof transports)[number];
}

async function main(argv: string[]): Promise<number> {
  const plan = planOf(argv);
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-connections-'));
  writeFileSync(join(folder, 'world.json'), JSON.stringify(worldOf(plan.callers)));
  const flags = ['--world', join(folder, 'world.json'), '--transport', plan.transport];
  let served: ServedProcess | undefined;
  try {
    served = await ServedProcess.start(folder, flags);
    const count = Math.ceil(plan.count * clientsPerConnection);
    const clients = idleClientsProcess(served, count, plan.streams);
    await clients.opened;
    const { ready } = served;
    const before = await served.holdings();
    const called = await callSteadily({ ready, perMinute, seconds: plan.seconds });
    const after = await served.holdings();
    const seen = clients.seen();
    const endMs = await endOf(served);
    await clients.leave();
    return report(plan, seen, called, { cpuMicros: after.cpuMicros - before.cpuMicros, endMs });
  } finally {
    await served?.kill();
    rmSync(folder, { recursive: true });
  }
}

function report(
  plan: Plan,
  seen: readonly Sighting[],
  called: LoadResult,
  { cpuMicros, endMs }: { readonly cpuMicros: number; readonly endMs: number },
): number {
  const { requests, errors, late, dropped, latency } = called;
  const last = seen.at(-1);
  const open = seen.map((sighting) => sighting.open);
  const descriptors = seen.flatMap(({ descriptors: held }) => held ?? []);
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const latencyMs = (percent: number) => latency.percentile(percent) / 1_000;
  const lines = [
    `transport ${plan.transport}, ${plan.callers} callers at ${perMinute} a minute, ` +
      `${plan.seconds} s`,
    `open connections: ${Math.min(...open)} to ${Math.max(...open)} of ${plan.count}, ` +
      `${plan.streams} of them event streams; files of the server: ${Math.min(...descriptors)} ` +
      `to ${Math.max(...descriptors)}`,
    `closed by the idle timeout and opened again: ${last?.timedOut ?? 0}; lost: ` +
      `${last?.lost.length ?? 0}`,
    `replies: ${requests}, unexpected or missing: ${errors + dropped}`,
    `latency from the intended start: p50 ${ms(latencyMs(50))}, p99 ${ms(latencyMs(99))}, ` +
      `max ${ms(latency.max / 1_000)}`,
    `server CPU: ${Math.round(cpuMicros / plan.seconds / 10_000)} % of a core; sends that the ` +
      `callers' timers delayed: ${late}`,
    `SIGTERM with all connections open: ended in ${ms(endMs)}`,
    ...(late > requests * mostLateShare ? ['the machine is busy: latencies are not valid'] : []),
    ...(last?.lost ?? []).slice(0, 10),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  const isEnough = [open, descriptors].every(
    (counts) =>
      counts.length === 0 ||
      (Math.max(...counts) >= plan.count && Math.min(...counts) >= plan.count * leastShare),
  );
  const isSound = last?.lost.length === 0 && errors + dropped === 0 && isEnough;
  return isSound && latencyMs(99) < mostP99Ms && endMs < endWithinMs ? 0 : 1;
}

/** How long SIGTERM takes; NaN if the server does not exit cleanly. */
async function endOf(served: ServedProcess): Promise<number> {
  const startedMs = performance.now();
  served.signal('SIGTERM');
  const { code } = await served.ended;
  return code === 0 ? performance.now() - startedMs : Number.NaN;
}

function worldOf(callers: number): object {
  const accounts = Array.from({ length: callers }, (_, index) => ({
    name: `caller ${index}`,
    monthly_quota: 'unlimited',
    sims: [{ number: `+1202555${1000 + index}` }],
  }));
  return { accounts };
}

function planOf(argv: string[]): Plan {
  const plan = readFlags(argv, {
    count: whole(1, 25_000, 10_000),
    seconds: whole(1, 3_600, 20),
    callers: whole(1, 1_000, 50),
    streams: whole(0, 1_000, 5),
    transport: word('hyperexpress', 'node'),
  });
  const files = Math.ceil(plan.count * clientsPerConnection) + ownDescriptors;
  const most = openFilesLimit();
  if (files <= most) return plan;
  throw new FlagError(`--count ${plan.count} needs ${files} open files; ulimit -Hn is ${most}`);
}

/** Node raises its soft limit to the hard limit at its start. */
function openFilesLimit(): number {
  const report = process.report?.getReport() as
    | { userLimits?: { open_files?: { hard: number | 'unlimited' } } }
    | undefined;
  const limit = report?.userLimits?.open_files?.hard;
  return typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY;
}

await runProgram('test:connections', main);
