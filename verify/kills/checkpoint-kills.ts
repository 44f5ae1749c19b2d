/**
 * Kills a service under load with SIGKILL, every other time while it writes a checkpoint, and
 * restarts it with the same journal. Every acknowledged send must exist, and its `request_id` must
 * be answered with the first bytes. At the end the journal must replay.
 * `npm run test:checkpoints -- --kills 40 --seed 1 --journal-max 2MiB --seconds 1`
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replayJournal } from '../../src/cli/replay-journal.ts';
import { routeOf } from '../../src/operations/table.ts';
import { Rng } from '../../src/sim/rng.ts';
import { checkpointNumber, filesOf } from '../testkit/journal-files.ts';
import { number, readFlags, runProgram, textOr, whole } from '../testkit/program-flags.ts';
import { ServedProcess } from '../testkit/served-process.ts';
import { sendAll } from './send-client.ts';

export interface CheckpointKillPlan {
  readonly kills: number;
  readonly seed: number;
  /** `--journal-max`. */
  readonly journalMax: string;
  /** The longest load before a kill. */
  readonly seconds: number;
}

export interface CheckpointKillReport extends CheckpointKillPlan {
  /** Kills that left an unfinished checkpoint behind. */
  readonly duringCheckpoint: number;
  readonly checkpoints: number;
  readonly acknowledged: number;
  /** The total size of all files of the journal, sampled every 50 ms. */
  readonly largestBytes: number;
  /** From the start of the process to its first answer. */
  readonly longestStartMs: number;
  readonly complaints: readonly string[];
}

const connections = 16;
const sampleMs = 50;
/** Replies of earlier rounds that are checked after each start; at the end all are checked. */
const checkedEachTime = 2_000;

export async function killDuringCheckpoints(
  plan: CheckpointKillPlan,
): Promise<CheckpointKillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-checkpoint-kills-'));
  const journal = join(folder, 'run.ndjson');
  const flags = ['--no-limits', '--journal', journal, '--journal-max', plan.journalMax];
  const chance = Rng.stream(plan.seed, 'kills');
  const acknowledged: [requestId: string, body: string][] = [];
  const complaints: string[] = [];
  let duringCheckpoint = 0;
  let longestStartMs = 0;
  let largestBytes = 0;
  const sampler = setInterval(() => {
    largestBytes = Math.max(largestBytes, bytesOf(journal));
  }, sampleMs);
  let served: ServedProcess | undefined;
  const start = async () => {
    const startedMs = performance.now();
    const next = await ServedProcess.start(folder, flags);
    longestStartMs = Math.max(longestStartMs, performance.now() - startedMs);
    served = next;
    return next;
  };
  try {
    for (let round = 0; round < plan.kills; round++) {
      const next = await start();
      complaints.push(...(await check(next, acknowledged.slice(-checkedEachTime))));
      const loadMs = chance.fraction() * plan.seconds * 1_000;
      const laterMs = chance.fraction() * 100;
      let isKilled = false;
      const load = sendAll(next.ready, {
        connections,
        nextId: nextIdOf(`${plan.seed}-${round}`),
        onReply: ({ requestId, status, body }) => {
          if (status === 202) acknowledged.push([requestId, body]);
          else complaints.push(`${requestId} is answered ${status} ${body}`);
        },
      });
      const kill = async () => {
        await sleep(loadMs);
        if (round % 2 === 1) {
          while (!isUnfinished(journal)) await sleep(1);
          await sleep(laterMs * chance.fraction());
        }
        isKilled = true;
        await next.kill();
      };
      await Promise.all([kill(), load.then(() => assertKilled(isKilled, next))]);
      if (isUnfinished(journal)) duringCheckpoint++;
    }
    const last = await start();
    complaints.push(...(await check(last, acknowledged)));
    complaints.push(...(await unsound(last, acknowledged.length, plan.kills * connections)));
    await last.kill();
    const { differing, differences } = replayJournal(journal);
    if (differing > 0) complaints.push(`the replay differs: ${JSON.stringify(differences[0])}`);
    return {
      ...plan,
      duringCheckpoint,
      checkpoints: checkpointNumber(journal),
      acknowledged: acknowledged.length,
      largestBytes,
      longestStartMs: Math.round(longestStartMs),
      complaints,
    };
  } finally {
    clearInterval(sampler);
    await served?.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

function nextIdOf(prefix: string): () => string {
  let count = 0;
  return () => `${prefix}-${++count}`;
}

function assertKilled(isKilled: boolean, served: ServedProcess): void {
  if (!isKilled) throw new Error(`the service ended under load: ${served.errors}`);
}

/** Repeats each send: it must be answered 200 with the bytes of the first reply. */
async function check(
  served: ServedProcess,
  acknowledged: readonly (readonly [requestId: string, body: string])[],
): Promise<string[]> {
  const complaints: string[] = [];
  const bodies = new Map(acknowledged);
  const ids = bodies.keys();
  await sendAll(served.ready, {
    connections,
    nextId: () => ids.next().value,
    onReply: ({ requestId, status, body }) => {
      if (status !== 200 || body !== bodies.get(requestId)) {
        complaints.push(`${requestId} is answered ${status} ${body}`);
      }
      bodies.delete(requestId);
    },
  });
  for (const requestId of bodies.keys()) complaints.push(`${requestId} is not answered`);
  return complaints;
}

/**
 * Each acknowledged send must exist as one message; sends whose reply was cut off may exist as
 * well.
 */
async function unsound(
  { controlUrl }: ServedProcess,
  acknowledged: number,
  cutOff: number,
): Promise<string[]> {
  const read = async (name: 'simulator.state' | 'simulator.invariants') =>
    (await fetch(`${controlUrl}${routeOf(name).path}`)).json();
  const { messages } = (await read('simulator.state')) as { messages: { total: number } };
  const { broken } = (await read('simulator.invariants')) as { broken: string[] };
  const isOther = messages.total < acknowledged || messages.total > acknowledged + cutOff;
  return isOther ? [...broken, `${messages.total} messages, ${acknowledged} sends`] : broken;
}

/** True if a checkpoint file exists that the journal does not name yet. */
function isUnfinished(journal: string): boolean {
  if (!existsSync(journal)) return false;
  return existsSync(`${journal}.checkpoint-${checkpointNumber(journal) + 1}`);
}

function bytesOf(journal: string): number {
  let bytes = 0;
  for (const name of filesOf(journal)) {
    bytes += statSync(join(journal, '..', name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function main(argv: string[]): Promise<number> {
  const { 'journal-max': journalMax, ...plan } = readFlags(argv, {
    kills: whole(1, 1_000, 40),
    seed: whole(0, 2 ** 32 - 1, 1),
    'journal-max': textOr('2MiB'),
    seconds: number(0, 3_600, 1),
  });
  const report = await killDuringCheckpoints({ ...plan, journalMax });
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return report.complaints.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runProgram('test:checkpoints', main);
