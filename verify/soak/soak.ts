/**
 * Simulated weeks of mixed load on a served service that is killed, ended, moved and disturbed meanwhile; then
 * everything is looked at: see `audit.ts`, and what the process still holds after a reset.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { transports } from '../../src/cli/serve-options.ts';
import { Rng } from '../../src/sim/rng.ts';
import { Books } from './books.ts';
import { Caller } from './caller.ts';
import { type Closing, closeBooks } from './closing.ts';
import { DisturbedService } from './disturbed-service.ts';
import { faultsOfDay } from './faults-of-day.ts';
import { Life } from './life.ts';
import { sendEndpoints } from './routes.ts';
import { Traffic } from './traffic.ts';
import { warmUp } from './warm-up.ts';
import { accountsOf, type SoakAccount, soakWorld } from './world.ts';

export interface SoakPlan {
  readonly days: number;
  /** Real milliseconds of load, restarts not counted. */
  readonly loadMs: number;
  readonly seed: number;
  readonly transport: (typeof transports)[number];
  /** Told how far it is, in one line, every so often. */
  readonly tell?: ((line: string) => void) | undefined;
}

export interface SoakReport extends Closing {
  readonly requests: number;
  /** How many answers had which status. */
  readonly answers: Readonly<Record<string, number>>;
  readonly unanswered: number;
  readonly replays: number;
  readonly restarts: Readonly<Record<'SIGKILL' | 'SIGTERM' | 'snapshot', number>>;
  readonly longestEndMs: number;
  readonly complaints: readonly string[];
}

const dayMs = 24 * 60 * 60 * 1_000;
const workers = 8;
/** Keeps the journals short enough to be played again several times. */
const pauseMs = 10;
/** Of a day; the rest is jumped over. */
const flowingShare = 0.9;
const burstSends = 150;
const tellEveryMs = 15_000;

export async function soak(plan: SoakPlan): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-soak-'));
  writeFileSync(join(folder, 'world.json'), JSON.stringify(soakWorld));
  const run = new Soak(plan, folder);
  const timer = setInterval(() => plan.tell?.(run.progress()), tellEveryMs);
  try {
    return await run.run();
  } finally {
    clearInterval(timer);
    await run.life.kill();
    rmSync(folder, { recursive: true });
  }
}

class Soak {
  readonly #plan: SoakPlan;
  readonly #rng: Rng;
  readonly #books = new Books();
  readonly #caller = new Caller();
  readonly #service = new DisturbedService(this.#caller, this.#books);
  readonly life: Life;
  readonly restarts = { SIGKILL: 0, SIGTERM: 0, snapshot: 0 };
  #day = 0;
  #isOver = false;

  constructor(plan: SoakPlan, folder: string) {
    this.#plan = plan;
    this.#rng = Rng.stream(plan.seed, 'soak');
    const { seed, transport } = plan;
    const world = ['--world', join(folder, 'world.json'), '--seed', String(seed)];
    this.life = new Life({
      folder,
      flags: [...world, '--clock', 'scaled', '--transport', transport],
      caller: this.#caller,
      complain: (text) => this.#books.complain(text),
      warmUp: (served) => warmUp(this.#caller, served),
    });
  }

  async run(): Promise<SoakReport> {
    await this.life.begin();
    const accounts = accountsOf(this.life.served.ready);
    for (const { accountId, keys } of accounts) {
      keys.push(await this.life.levers.createKey(accountId));
    }
    const startMs = await this.life.levers.now();
    const traffic = new Traffic(this.#rng, this.#books, this.#service, accounts, startMs);
    this.#service.open(this.life.served.baseUrl);
    const working = Promise.all(Array.from({ length: workers }, () => this.#work(traffic)));
    for (; this.#day < this.#plan.days; this.#day++) {
      await this.#oneDay(traffic, accounts, startMs + this.#day * dayMs);
    }
    this.#isOver = true;
    await working;
    const closing = await closeBooks(this.life, this.#books, accounts, () => traffic.poll());
    return {
      ...closing,
      requests: this.#service.requests,
      answers: Object.fromEntries(traffic.answers),
      unanswered: this.#service.unanswered,
      replays: this.#books.replays,
      restarts: this.restarts,
      longestEndMs: this.life.longestEndMs,
      complaints: this.#books.complaints,
    };
  }

  progress(): string {
    const { requests } = this.#service;
    const { sends, complaints } = this.#books;
    const accepted = sends.filter(({ outcome }) => outcome === 'accepted').length;
    return `day ${this.#day} of ${this.#plan.days}: ${requests} requests, ${accepted} messages acknowledged, ${complaints.length} complaints`;
  }

  async #work(traffic: Traffic): Promise<void> {
    while (!this.#isOver) {
      await traffic.next();
      await sleep(pauseMs);
    }
  }

  /** Time flows with the load, is cut by the trouble of the day, and at last jumps to the day's end. */
  async #oneDay(
    traffic: Traffic,
    accounts: readonly SoakAccount[],
    startMs: number,
  ): Promise<void> {
    const { life } = this;
    const day = this.#day;
    const isLast = day === this.#plan.days - 1;
    const halfMs = this.#plan.loadMs / this.#plan.days / 2;
    const rate = (dayMs * flowingShare) / (halfMs * 2);
    await life.levers.scale(rate);
    await this.#underFaults(faultsOfDay(day), () => sleep(halfMs));
    await life.levers.scale(1);
    const account = accounts[day % accounts.length];
    const endpoint = sendEndpoints[day % sendEndpoints.length];
    if (account !== undefined && endpoint !== undefined) {
      await traffic.burst(account, endpoint, burstSends);
      await life.levers.receive(account.accountId, account.numbers[0] ?? '');
    }
    await life.levers.scale(rate);
    // The process of the last day is the one whose memory is looked at.
    if (!isLast && day % 2 === 0) {
      await this.#restart(day % 4 === 0 ? 'SIGKILL' : 'SIGTERM');
    }
    await sleep(halfMs);
    if (day === this.#plan.days - 2 || (!isLast && day % 5 === 4)) {
      await this.#moveOn();
    }
    await life.levers.advanceTo(startMs + dayMs);
  }

  async #underFaults(faults: readonly object[], meanwhile: () => Promise<void>): Promise<void> {
    if (faults.length > 0) this.#service.faulty = true;
    for (const fault of faults) await this.life.levers.addFault(fault);
    await meanwhile();
    if (faults.length === 0) return;
    await this.life.levers.clearFaults();
    this.#service.faulty = false;
  }

  /** The load goes on into the process that ends. */
  async #restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.restarts[signal]++;
    this.#service.faulty = true;
    await this.life.end(signal);
    this.#service.close();
    await this.life.resume();
    this.#service.open(this.life.served.baseUrl);
    this.#service.faulty = false;
  }

  async #moveOn(): Promise<void> {
    this.restarts.snapshot++;
    this.#service.close();
    await this.#service.quiet();
    await this.life.moveOn();
    this.#service.open(this.life.served.baseUrl);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
