/**
 * Simulated weeks of mixed load on a served service that is killed, restarted, moved and disturbed;
 * then `audit.ts` checks all evidence, and `closing.ts` what the process holds after a reset.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { transports } from '../../src/cli/serve-options.ts';
import { Rng } from '../../src/sim/rng.ts';
import { Caller } from './caller.ts';
import { type Closing, closeSoak } from './closing.ts';
import { DisturbedService } from './disturbed-service.ts';
import { faultsOfDay } from './faults-of-day.ts';
import { Ledger } from './ledger.ts';
import { sendEndpoints } from './routes.ts';
import { ServiceProcesses } from './service-processes.ts';
import { Traffic } from './traffic.ts';
import { warmUp } from './warm-up.ts';
import { accountsOf, type SoakAccount, soakWorld } from './world.ts';

export interface SoakPlan {
  readonly days: number;
  /** Real milliseconds of load, without restarts. */
  readonly loadMs: number;
  readonly seed: number;
  readonly transport: (typeof transports)[number];
  /** Called with a line of progress. */
  readonly onProgress?: ((line: string) => void) | undefined;
}

export interface SoakReport extends Closing {
  readonly requests: number;
  /** Number of answers per status. */
  readonly answers: Readonly<Record<string, number>>;
  readonly unanswered: number;
  readonly replays: number;
  readonly restarts: Readonly<Record<'SIGKILL' | 'SIGTERM' | 'snapshot', number>>;
  readonly longestEndMs: number;
  readonly complaints: readonly string[];
}

const dayMs = 24 * 60 * 60 * 1_000;
const workers = 8;
/** Pause between requests: keeps the journals short enough to be replayed several times. */
const pauseMs = 10;
/** The share of a day that passes under load; the rest is skipped. */
const flowingShare = 0.9;
const burstSends = 150;
const progressEveryMs = 15_000;

export async function soak(plan: SoakPlan): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-soak-'));
  writeFileSync(join(folder, 'world.json'), JSON.stringify(soakWorld));
  const run = new Soak(plan, folder);
  const timer = setInterval(() => plan.onProgress?.(run.progress()), progressEveryMs);
  try {
    return await run.run();
  } finally {
    clearInterval(timer);
    await run.processes.kill();
    rmSync(folder, { recursive: true });
  }
}

class Soak {
  readonly #plan: SoakPlan;
  readonly #rng: Rng;
  readonly #ledger = new Ledger();
  readonly #caller = new Caller();
  readonly #service = new DisturbedService(this.#caller, this.#ledger);
  readonly processes: ServiceProcesses;
  readonly restarts = { SIGKILL: 0, SIGTERM: 0, snapshot: 0 };
  #day = 0;
  #isOver = false;

  constructor(plan: SoakPlan, folder: string) {
    this.#plan = plan;
    this.#rng = Rng.stream(plan.seed, 'soak');
    const { seed, transport } = plan;
    const world = ['--world', join(folder, 'world.json'), '--seed', String(seed)];
    this.processes = new ServiceProcesses({
      folder,
      flags: [...world, '--clock', 'scaled', '--transport', transport],
      caller: this.#caller,
      complain: (text) => this.#ledger.complain(text),
      warmUp: (served) => warmUp(this.#caller, served),
    });
  }

  async run(): Promise<SoakReport> {
    await this.processes.begin();
    const accounts = accountsOf(this.processes.served.ready);
    for (const { accountId, keys } of accounts) {
      keys.push(await this.processes.control.createKey(accountId));
    }
    const startMs = await this.processes.control.now();
    const traffic = new Traffic(this.#rng, this.#ledger, this.#service, accounts, startMs);
    this.#service.open(this.processes.served.baseUrl);
    const working = Promise.all(Array.from({ length: workers }, () => this.#work(traffic)));
    for (; this.#day < this.#plan.days; this.#day++) {
      await this.#oneDay(traffic, accounts, startMs + this.#day * dayMs);
    }
    this.#isOver = true;
    await working;
    const closing = await closeSoak(this.processes, this.#ledger, accounts, () => traffic.poll());
    return {
      ...closing,
      requests: this.#service.requests,
      answers: Object.fromEntries(traffic.answers),
      unanswered: this.#service.unanswered,
      replays: this.#ledger.replays,
      restarts: this.restarts,
      longestEndMs: this.processes.longestEndMs,
      complaints: this.#ledger.complaints,
    };
  }

  progress(): string {
    const { requests } = this.#service;
    const { sends, complaints } = this.#ledger;
    const accepted = sends.filter(({ outcome }) => outcome === 'accepted').length;
    return (
      `day ${this.#day} of ${this.#plan.days}: ${requests} requests, ${accepted} messages ` +
      `acknowledged, ${complaints.length} complaints`
    );
  }

  async #work(traffic: Traffic): Promise<void> {
    while (!this.#isOver) {
      await traffic.next();
      await sleep(pauseMs);
    }
  }

  /** Time runs with the load, is interrupted by the day's restart, and jumps to the day's end. */
  async #oneDay(
    traffic: Traffic,
    accounts: readonly SoakAccount[],
    startMs: number,
  ): Promise<void> {
    const { processes } = this;
    const day = this.#day;
    const isLast = day === this.#plan.days - 1;
    const halfMs = this.#plan.loadMs / this.#plan.days / 2;
    const rate = (dayMs * flowingShare) / (halfMs * 2);
    await processes.control.scale(rate);
    await this.#underFaults(faultsOfDay(day), () => sleep(halfMs));
    await processes.control.scale(1);
    const account = accounts[day % accounts.length];
    const endpoint = sendEndpoints[day % sendEndpoints.length];
    if (account !== undefined && endpoint !== undefined) {
      await traffic.burst(account, endpoint, burstSends);
      await processes.control.receive(account.accountId, account.numbers[0] ?? '');
    }
    await processes.control.scale(rate);
    // The memory of the last day's process is measured, so it is not replaced.
    if (!isLast && day % 2 === 0) {
      await this.#restart(day % 4 === 0 ? 'SIGKILL' : 'SIGTERM');
    }
    await sleep(halfMs);
    if (day === this.#plan.days - 2 || (!isLast && day % 5 === 4)) {
      await this.#moveOn();
    }
    await processes.control.advanceTo(startMs + dayMs);
  }

  async #underFaults(faults: readonly object[], meanwhile: () => Promise<void>): Promise<void> {
    if (faults.length > 0) this.#service.faulty = true;
    for (const fault of faults) await this.processes.control.addFault(fault);
    await meanwhile();
    if (faults.length === 0) return;
    await this.processes.control.clearFaults();
    this.#service.faulty = false;
  }

  /** The load continues while the process ends. */
  async #restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.restarts[signal]++;
    this.#service.faulty = true;
    await this.processes.end(signal);
    this.#service.close();
    await this.processes.resume();
    this.#service.open(this.processes.served.baseUrl);
    this.#service.faulty = false;
  }

  async #moveOn(): Promise<void> {
    this.restarts.snapshot++;
    this.#service.close();
    await this.#service.quiet();
    await this.processes.moveOn();
    this.#service.open(this.processes.served.baseUrl);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
