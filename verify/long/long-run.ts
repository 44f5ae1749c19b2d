/**
 * A long run of a service in its own process: rounds of mixed load, each with its disturbances and
 * its end under load; then `verdict.ts`. A run of kills has many short rounds. A soak has rounds of
 * a simulated day each, and its last days run in one process, whose memory must not have grown.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dayMs } from '#contract/time.ts';
import type { transports } from '#src/config/settings.ts';
import { Rng } from '#src/sim/random.ts';
import { checkpointNumber } from '../testkit/journal-files.ts';
import type { Holdings } from '../testkit/processes/probe.ts';
import { IdleClients } from './idle-clients.ts';
import { type Account, Load } from './load.ts';
import { type Ending, endings, Service } from './service.ts';
import {
  auditMessages,
  finishMessages,
  judgeJournals,
  resetAndCompareHoldings,
} from './verdict.ts';

/** `snapshot`: another process continues from a snapshot; `none`: the process goes on. */
export type RoundEnd = Ending | 'snapshot' | 'none';

export interface LongPlan {
  readonly seed: number;
  readonly transport: (typeof transports)[number];
  /** How the service ends, for each round. */
  readonly ends: readonly RoundEnd[];
  readonly journalMax?: string | undefined;
  /** The most messages of a round before its end, beyond the least. */
  readonly sends: number;
  /** In a soak, the real milliseconds of a simulated day's load. */
  readonly dayLoadMs?: number | undefined;
}

/** All kinds of ends in turn; the last days run in one process. */
export function endsOfDays(days: number): RoundEnd[] {
  const kinds = [...endings, 'snapshot'] as const;
  return Array.from({ length: days }, (_, day) => {
    return (day < Math.floor(days * 0.8) ? kinds[day % kinds.length] : undefined) ?? 'none';
  });
}

/** Slow clients. One never finishes a body, which may delay an end for the whole grace period. */
const slowPeers = { count: 5, streams: 1, unfinishedBodies: 1 };
const workers = 16;
const leastMessages = 100;
/** In a soak, a pause between requests keeps the journals short enough to be replayed. */
const pauseMs = 20;
/** Ids that are replayed after each start. At the end of a run without limits, all are. */
const replayedIds = 2_000;
/** The share of a simulated day that passes under load; the clock skips the rest. */
const flowingShare = 0.9;
/** The sends of a burst: more than the limits of an account allow in a minute. */
const burstSends = 600;
const warmUpRequests = 500;

/** One day in so many has faults. */
const disturbedEvery = 3;
const faults = [
  { kind: 'lost_response' },
  { kind: 'delay', ms: 30 },
  { kind: 'refuse' },
  { kind: 'status', status: 500 },
  { kind: 'truncate' },
  { kind: 'malformed' },
];

export async function longRun(plan: LongPlan) {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-long-'));
  const { seed, transport, journalMax, dayLoadMs } = plan;
  const service = new Service(folder, [
    ...['--seed', `${seed}`, '--transport', transport],
    ...(journalMax === undefined ? [] : ['--journal-max', journalMax]),
    ...(dayLoadMs === undefined ? ['--no-limits'] : ['--clock', 'scaled']),
  ]);
  try {
    return await play(plan, service, Rng.stream(seed, 'long run'));
  } catch (error) {
    throw new Error([...service.complaints, String(error)].join('\n'));
  } finally {
    await service.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(plan: LongPlan, service: Service, rng: Rng) {
  const isSoak = plan.dayLoadMs !== undefined;
  await service.start('new journal');
  const atStart = isSoak ? await warmUp(service, rng) : undefined;
  const load = new Load(rng, service, await accountsOf(service));
  /** Ends that left an unfinished checkpoint behind. */
  let duringCheckpoint = 0;
  for (const round of plan.ends.keys())
    if (await playRound(plan, service, load, round)) duringCheckpoint++;
  await load.replayLatest(isSoak ? replayedIds : load.messages.length);
  await finishMessages(service, load);
  const found = await auditMessages(service, load);
  const heapBytes = atStart && (await resetAndCompareHoldings(service, atStart));
  await service.end('SIGTERM');
  const judged = await judgeJournals(service, load, isSoak && plan.journalMax === undefined);
  const checkpoints = checkpointNumber(service.journal);
  const { answers, longestStartMs, longestEndMs, complaints } = service;
  const figures = { found, answers, duringCheckpoint, checkpoints, longestStartMs, longestEndMs };
  return { ...figures, ...judged, heapBytes, complaints };
}

/** Loads the service, so that its code is in memory, resets it, and measures its holdings. */
async function warmUp(service: Service, rng: Rng): Promise<Holdings> {
  const load = new Load(rng, service, await accountsOf(service));
  for (let count = 0; count < warmUpRequests; count++) await load.next();
  await service.ask('simulator.invariants');
  await service.ask('simulator.reset');
  return service.holdings();
}

/**
 * The accounts of the default world, each with a second key: one has two SIMs, one an external
 * device, and one no SIM and a small quota.
 */
function accountsOf(service: Service): Promise<Account[]> {
  const { accounts, pool } = service.served.ready;
  const prepared = accounts.map(async ({ account_id: accountId, api_key: first, sims }, index) => {
    const quota = sims.length > 0 ? 'unlimited' : 150;
    await service.ask('accounts.patch', accountId, { monthly_quota: quota });
    const name = { name: 'second' };
    const { key } = await service.ask<{ key: string }>('accounts.createKey', accountId, name);
    const { keys } = await service.ask<{ keys: { key_id: string }[] }>('accounts.keys', accountId);
    const keyIds = keys.map(({ key_id: keyId }) => keyId);
    const deviceId = sims[0]?.device_id;
    if (index === 1) await service.ask('sims.patch', deviceId, { polling: 'external' });
    const numbers = (sims.length > 0 ? sims : pool).map(({ number }) => number);
    return { accountId, keys: [first, key], keyIds, numbers, deviceId };
  });
  return Promise.all(prepared);
}

/** Runs one round. Resolves to true if its end left an unfinished checkpoint behind. */
async function playRound(plan: LongPlan, service: Service, load: Load, round: number) {
  const { sends, dayLoadMs } = plan;
  const isSoak = dayLoadMs !== undefined;
  const end = plan.ends[round] ?? 'none';
  const { served } = service;
  const { baseUrl, controlUrl } = served;
  await load.replayLatest(replayedIds);
  const peers = new IdleClients({ baseUrl, controlUrl, ...slowPeers });
  if (!isSoak || round % 3 === 1) await peers.open();
  const wanted = load.messages.length + leastMessages + load.rng.below(sends);
  let isLoadOver = false;
  const work = async () => {
    while (!isLoadOver && !served.hasEnded) {
      await load.next();
      if (isSoak) await sleep(pauseMs);
    }
  };
  const working = Promise.all(Array.from({ length: workers }, work));
  if (isSoak) await passDay(service, load, round, dayLoadMs);
  else await until(service, () => load.messages.length >= wanted);
  const leftCheckpoint =
    end !== 'none' && end !== 'snapshot' && (await endUnderLoad(plan, service, load, round, end));
  isLoadOver = true;
  await working;
  await peers.close();
  if (end === 'snapshot') await continueFromSnapshot(service);
  else if (end !== 'none') await service.start('same journal');
  service.isDisturbed = false;
  return leftCheckpoint;
}

/** Ends the service. Resolves to true if the end left an unfinished checkpoint behind. */
async function endUnderLoad(
  { journalMax }: LongPlan,
  service: Service,
  load: Load,
  round: number,
  end: Ending,
): Promise<boolean> {
  // Only every other round: ends outside a checkpoint are tested as well.
  if (journalMax !== undefined && round % 2 === 1) {
    await until(service, () => isUnfinished(service.journal));
    await sleep(load.rng.fraction() * 100);
  }
  service.isDisturbed = true;
  await service.end(end);
  return isUnfinished(service.journal);
}

/** Simulated time runs fast, in the first half with faults on some days; then at the real pace. */
async function passDay(service: Service, load: Load, round: number, loadMs: number) {
  const rate = (dayMs * flowingShare) / loadMs;
  await service.ask('clock.setMode', '', { mode: 'scaled', rate });
  service.isDisturbed = round % disturbedEvery === 0;
  if (service.isDisturbed) {
    // The next two kinds of faults, each for one request in ten.
    const first = ((2 * round) / disturbedEvery) % faults.length;
    for (const fault of faults.slice(first, first + 2))
      await service.ask('faults.add', '', { when: { probability: 0.1 }, fault });
  }
  await sleep(loadMs / 2);
  await service.ask('faults.clear');
  service.isDisturbed = false;
  await sleep(loadMs / 2);
  await service.ask('clock.setMode', '', { mode: 'scaled', rate: 1 });
  const { now } = await service.ask<{ now: string }>('clock.state');
  await service.ask('clock.advance', '', { by: `${dayMs - (Date.parse(now) % dayMs)}ms` });
  const account = load.accounts[round % load.accounts.length];
  if (account === undefined) return;
  await Promise.all(Array.from({ length: burstSends }, () => load.send(account)));
  const inbound = { from: '+12025550123', to: account.numbers[0], message: 'inbound' };
  if (account.deviceId) await service.ask('sims.receive', account.accountId, inbound);
}

async function continueFromSnapshot(service: Service): Promise<void> {
  await service.ask('clock.setMode', '', { mode: 'manual' });
  const snapshot = JSON.stringify(await service.ask('snapshots.take'));
  await service.end('SIGTERM');
  await service.start('new journal');
  await service.ask('snapshots.restore', '', snapshot);
  const restored = JSON.stringify(await service.ask('snapshots.take'));
  if (restored !== snapshot) service.complain('the snapshot after the restore differs');
  // Shows the judges that no fault of the snapshot is in force.
  await service.ask('faults.clear');
}

/** Waits without a deadline: the time until a checkpoint depends on `--journal-max`. */
async function until({ served }: Service, isReached: () => boolean): Promise<void> {
  while (!isReached()) {
    if (served.hasEnded) throw new Error(`the service ended under load: ${served.errors}`);
    await sleep(1);
  }
}

/** True if a checkpoint file exists that the journal does not name yet. */
function isUnfinished(journal: string): boolean {
  return existsSync(`${journal}.checkpoint-${checkpointNumber(journal) + 1}`);
}
