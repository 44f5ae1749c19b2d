/**
 * Ends a service under load and restarts it with the same journal, again and again. No acknowledged
 * send may be lost, duplicated or answered with other bytes, requested ends must be clean, and at
 * the end the journal must replay. With `--journal-max` every other end waits until a checkpoint
 * is being written.
 * `npm run test:kills -- --ending SIGKILL|SIGTERM|shutdown --transport hyperexpress|node`
 * `npm run test:checkpoints -- --kills 40 --seed 1 --journal-max 2MiB --sends 2000`
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { oneOf, wholeNumber } from '#io/flag-values.ts';
import type { Flag } from '#io/flags.ts';
import type { transports } from '#src/config/settings.ts';
import { Rng } from '#src/sim/random.ts';
import { checkpointNumber, filesOf } from '../testkit/journal-files.ts';
import { runProgram, transportFlag } from '../testkit/processes/program-flags.ts';
import { IdleClients } from './idle-clients.ts';
import { Sender } from './sender.ts';
import { type Ending, endings, Service } from './service.ts';

export interface KillPlan {
  readonly kills: number;
  readonly seed: number;
  readonly ending: Ending;
  readonly transport: (typeof transports)[number];
  /** The most sends of a round before its end. */
  readonly sends: number;
  readonly journalMax?: string | undefined;
  /** Slow peers that never finish a body: they may delay an end for the whole grace. */
  readonly unfinishedBodies: number;
}

export interface KillReport {
  readonly acknowledged: number;
  /** Ends that left an unfinished checkpoint behind. */
  readonly duringCheckpoint: number;
  readonly checkpoints: number;
  /** The largest size of all files of the journal, sampled every 50 ms. */
  readonly largestBytes: number;
  readonly longestStartMs: number;
  readonly longestEndMs: number;
  readonly complaints: readonly string[];
}

const leastSends = 100;
const sampleMs = 50;
/** Sends that are checked after each start; at the end all are. */
const checkedEachTime = 2_000;

export async function killAndRestart(plan: KillPlan): Promise<KillReport> {
  const { kills, seed, transport, journalMax } = plan;
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-kills-'));
  const sender = new Sender();
  const flags = ['--no-limits', '--transport', transport];
  if (journalMax !== undefined) flags.push('--journal-max', journalMax);
  const complain = (text: string) => void sender.complaints.push(text);
  const service = new Service({ folder, flags, complain });
  const { journal } = service;
  const chance = Rng.stream(seed, 'kills');
  let largestBytes = 0;
  let duringCheckpoint = 0;
  const sampler = setInterval(() => {
    largestBytes = Math.max(largestBytes, bytesOf(journal));
  }, sampleMs);
  try {
    for (let round = 0; round < kills; round++) {
      await playRound(round, plan, { service, sender, chance });
      if (isUnfinished(journal)) duringCheckpoint++;
    }
    const last = await service.start();
    await sender.check(last);
    await sender.checkState(last);
    await last.kill();
    const { differing, differences } = replayJournal(journal);
    if (differing > 0) complain(`the replay differs: ${JSON.stringify(differences[0])}`);
    return {
      acknowledged: sender.acknowledged.size,
      duringCheckpoint,
      checkpoints: checkpointNumber(journal),
      largestBytes,
      longestStartMs: Math.round(service.longestStartMs),
      longestEndMs: Math.round(service.longestEndMs),
      complaints: sender.complaints,
    };
  } finally {
    clearInterval(sampler);
    await service.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Parts {
  readonly service: Service;
  readonly sender: Sender;
  readonly chance: Rng;
}

/** Starts the service, checks what it kept, and ends it under load. */
async function playRound(round: number, plan: KillPlan, parts: Parts): Promise<void> {
  const { sends, ending, journalMax, unfinishedBodies } = plan;
  const { service, sender, chance } = parts;
  const served = await service.start();
  await sender.check(served, checkedEachTime);
  const { baseUrl, controlUrl } = served;
  const peers = new IdleClients({ baseUrl, controlUrl, count: 5, streams: 1, unfinishedBodies });
  await peers.open();
  const endsAfter = leastSends + chance.below(sends);
  const end = async () => {
    // Only every other round: ends outside a checkpoint are tested as well.
    if (journalMax !== undefined && round % 2 === 1) {
      await waitForCheckpoint(service.journal);
      await sleep(chance.fraction() * 100);
    }
    await service.end(ending);
  };
  let ended: Promise<void> | undefined;
  await sender.load(served, (replies) => {
    if (replies >= endsAfter) ended ??= end();
  });
  if (ended === undefined) throw new Error(`the service ended under load: ${served.errors}`);
  await ended;
  peers.close();
}

/**
 * Waits until a checkpoint is being written. Has no deadline: the load goes on meanwhile, so the
 * journal grows until it needs one, and how long that takes depends on `--journal-max`.
 */
async function waitForCheckpoint(journal: string): Promise<void> {
  while (!isUnfinished(journal)) await sleep(1);
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

const flags = [
  { flag: '--kills <n>', about: 'how often', parse: wholeNumber(1, 10_000), fallback: 20 },
  {
    flag: '--seed <n>',
    about: 'seed of the random choices',
    parse: wholeNumber(0, 2 ** 32 - 1),
    fallback: 1,
  },
  {
    flag: '--ending <kind>',
    about: endings.join('|'),
    parse: oneOf(endings),
    fallback: endings[0],
  },
  { ...transportFlag, fallback: 'hyperexpress' },
  { flag: '--journal-max <size>', about: 'of the journal, such as 2MiB' },
  {
    flag: '--sends <n>',
    about: 'most sends of a round',
    parse: wholeNumber(1, 1_000_000),
    fallback: 2_000,
  },
] as const satisfies readonly Flag[];

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.exitCode = await runProgram({ name: 'test:kills', flags }, async (given) => {
    const report = await killAndRestart({ ...given, unfinishedBodies: 1 });
    process.stdout.write(`${JSON.stringify({ ...given, ...report }, null, 2)}\n`);
    return report.complaints.length === 0 ? 0 : 1;
  });
