/**
 * `npm run soak -- --days 30 --minutes 5 --seed 1 --transport hyperexpress|node`: simulated weeks
 * of mixed load on a service in its own process. Meanwhile the events of `events.ts` disturb it:
 * faults, kills, restarts. At the end `closing.ts` audits all evidence and compares the memory
 * after a reset. Exit codes: 0 no complaint, 1 complaints, 2 a wrong flag.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { dayMs } from '#contract/time.ts';
import { wholeNumber } from '#io/flag-values.ts';
import type { Flag } from '#io/flags.ts';
import { Rng } from '#src/sim/random.ts';
import type { Holdings } from '../testkit/processes/probe.ts';
import { number, runProgram, transportFlag } from '../testkit/processes/program-flags.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { type Call, Caller, DisturbedService } from './caller.ts';
import { closeSoak } from './closing.ts';
import { Control } from './control.ts';
import { type Event, events, type Run } from './events.ts';
import { IdleClients } from './idle-clients.ts';
import { Ledger } from './ledger.ts';
import { Service } from './service.ts';
import { type SoakPlan, type SoakReport, summaryOf } from './soak-report.ts';
import { Traffic } from './traffic.ts';
import { accountsOf, ordinaryRecipient, type SoakAccount, soakWorld } from './world.ts';

const workers = 8;
/** Pause between requests: keeps the journals short enough to be replayed several times. */
const pauseMs = 10;
/** The share of a simulated day that passes under load; the clock skips the rest. */
const flowingShare = 0.9;
const progressEveryMs = 15_000;
const warmUpRounds = 20;
const slowPeers = { count: 5, streams: 1, unfinishedBodies: 1 };

export async function soak(plan: SoakPlan): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-soak-'));
  writeFileSync(join(folder, 'world.json'), JSON.stringify(soakWorld));
  const run = new Soak(plan, folder);
  const timer = setInterval(() => plan.onProgress?.(run.progress()), progressEveryMs);
  try {
    return await run.run();
  } finally {
    clearInterval(timer);
    await run.service.kill();
    rmSync(folder, { recursive: true });
  }
}

class Soak implements Run {
  readonly #plan: SoakPlan;
  readonly #ledger = new Ledger();
  readonly #caller = new Caller();
  readonly #target = new DisturbedService(this.#caller, (text) => this.#ledger.complain(text));
  /** How often each event happened. */
  readonly #eventCounts: Record<string, number> = {};
  readonly service: Service;
  /** The resources of the current process before the load. */
  #atStart: Holdings | undefined;
  #startMs = 0;
  #peers: IdleClients | undefined;
  #traffic: Traffic | undefined;
  accounts: readonly SoakAccount[] = [];
  day = 0;
  #isOver = false;

  constructor(plan: SoakPlan, folder: string) {
    this.#plan = plan;
    const { seed, transport } = plan;
    const world = ['--world', join(folder, 'world.json'), '--seed', String(seed)];
    this.service = new Service({
      folder,
      flags: [...world, '--clock', 'scaled', '--transport', transport],
      complain: (text) => this.#ledger.complain(text),
    });
  }

  get traffic(): Traffic {
    if (this.#traffic === undefined) throw new Error('no traffic yet');
    return this.#traffic;
  }

  get #control(): Control {
    return new Control(this.#caller, this.service.served.controlUrl);
  }

  async run(): Promise<SoakReport> {
    await this.#begin();
    this.accounts = accountsOf(this.service.served.ready);
    for (const { accountId, keys } of this.accounts) {
      const { key } = await this.#control.ask<{ key: string }>('accounts.createKey', accountId, {
        name: 'soak',
      });
      keys.push(key);
    }
    this.#startMs = await this.#control.now();
    const rng = Rng.stream(this.#plan.seed, 'soak');
    this.#traffic = new Traffic(rng, this.#ledger, this.#target, this.accounts, this.#startMs);
    this.#target.open(this.service.served.baseUrl);
    const working = Promise.all(Array.from({ length: workers }, () => this.#work()));
    for (; this.day < this.#plan.days; this.day++) await this.#oneDay();
    this.#isOver = true;
    await working;
    const closing = await closeSoak({
      control: this.#control,
      service: this.service,
      ledger: this.#ledger,
      accounts: this.accounts,
      atStart: this.#atStart,
      poll: () => this.traffic.poll(),
      holdings: () => this.#holdings(),
    });
    return {
      ...closing,
      requests: this.#target.requests,
      answers: Object.fromEntries(this.traffic.answers),
      unanswered: this.#target.unanswered,
      replays: this.#ledger.replays,
      events: this.#eventCounts,
      longestEndMs: this.service.longestEndMs,
      complaints: this.#ledger.complaints,
    };
  }

  progress(): string {
    const { sends, complaints } = this.#ledger;
    const accepted = sends.filter(({ outcome }) => outcome === 'accepted').length;
    return (
      `day ${this.day} of ${this.#plan.days}: ${this.#target.requests} requests, ${accepted} ` +
      `messages acknowledged, ${complaints.length} complaints`
    );
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      await this.traffic.next();
      await sleep(pauseMs);
    }
  }

  /**
   * Simulated time runs fast under load, before and after noon. At noon it runs at the real pace.
   */
  async #oneDay(): Promise<void> {
    const halfMs = this.#plan.loadMs / this.#plan.days / 2;
    const rate = (dayMs * flowingShare) / (halfMs * 2);
    await this.#control.runClockAt(rate);
    await this.#runEvents('morning');
    await sleep(halfMs);
    await this.#control.runClockAt(1);
    await this.#runEvents('noon');
    await this.#control.runClockAt(rate);
    await sleep(halfMs);
    await this.#runEvents('evening');
    this.#peers?.close();
  }

  async #runEvents(at: Event['at']): Promise<void> {
    const daysLeft = this.#plan.days - 1 - this.day;
    for (const event of events) {
      if (event.at !== at || !event.isDue(this.day, daysLeft)) continue;
      this.#eventCounts[event.name] = (this.#eventCounts[event.name] ?? 0) + 1;
      await event.happen(this);
    }
  }

  async setFaults(faults: readonly object[]): Promise<void> {
    if (faults.length > 0) this.#target.faulty = true;
    else await this.#control.ask('faults.clear');
    for (const fault of faults) await this.#control.ask('faults.add', '', fault);
    if (faults.length === 0) this.#target.faulty = false;
  }

  async receive({ accountId, numbers: [to] }: SoakAccount): Promise<void> {
    const message = { from: ordinaryRecipient, to, message: 'inbound' };
    await this.#control.ask('sims.receive', accountId, message);
  }

  async connectSlowPeers(): Promise<void> {
    const { baseUrl, controlUrl } = this.service.served;
    this.#peers = new IdleClients({ baseUrl, controlUrl, ...slowPeers });
    await this.#peers.open();
  }

  /** The load goes on until the process has ended, and waits for the new one. */
  async restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#target.faulty = true;
    await this.service.end(signal);
    this.#target.close();
    await this.service.start();
    this.#target.open(this.service.served.baseUrl);
    this.#target.faulty = false;
  }

  async moveOn(): Promise<void> {
    this.#target.close();
    await this.#target.quiet();
    await this.#control.stopClock();
    const snapshot = await this.#control.snapshot();
    await this.service.end('SIGTERM');
    this.service.useNewJournal();
    await this.#begin();
    await this.#control.ask('snapshots.restore', '', snapshot);
    const isSame = (await this.#control.snapshot()) === snapshot;
    if (!isSame) this.#ledger.complain('the snapshot after the restore differs');
    this.#target.open(this.service.served.baseUrl);
  }

  async skipRest(): Promise<void> {
    await this.#control.advanceTo(this.#startMs + (this.day + 1) * dayMs);
  }

  /** Starts a process, uses all its code so that it is in memory, resets it, and measures it. */
  async #begin(): Promise<void> {
    const { baseUrl, ready } = await this.service.start();
    for (const { name, keys, numbers } of accountsOf(ready)) {
      const [key] = keys;
      const body = JSON.stringify({ from: numbers[0], to: ordinaryRecipient, message: name });
      const sends = Object.values(sendPaths).map((path): Call => {
        return { method: 'POST', path, key, body };
      });
      const reads = ['/api/v1/sms/received/', '/api/v1/account/stats/'].map((path): Call => {
        return { method: 'GET', path, key };
      });
      for (let round = 0; round < warmUpRounds; round++) {
        await Promise.all([...sends, ...reads].map((call) => this.#caller.call(baseUrl, call)));
      }
    }
    await this.#control.messages();
    await this.#control.ask('snapshots.restore', '', await this.#control.snapshot());
    await this.#control.ask('simulator.reset');
    this.#atStart = await this.#holdings();
  }

  /** The resources of the process after the soak's connections have closed. */
  async #holdings(): Promise<Holdings> {
    this.#caller.leave();
    return this.service.served.settledHoldings();
  }
}

/** The load's share of the whole time; the rest is for restarts and the audit. */
const loadShare = 0.6;
const flags = [
  { flag: '--days <n>', about: 'simulated days', parse: wholeNumber(2, 3_650), fallback: 30 },
  { flag: '--minutes <n>', about: 'real minutes', parse: number(0.05, 24 * 60), fallback: 5 },
  { flag: '--seed <n>', about: 'of all chance', parse: wholeNumber(0, 2 ** 32 - 1), fallback: 1 },
  { ...transportFlag, fallback: 'hyperexpress' },
] as const satisfies readonly Flag[];

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.exitCode = await runProgram({ name: 'soak', flags }, async ({ minutes, ...options }) => {
    const plan = { ...options, loadMs: minutes * 60_000 * loadShare };
    const startedMs = performance.now();
    const print = (line: string) => {
      const seconds = Math.round((performance.now() - startedMs) / 1_000);
      process.stdout.write(`${String(seconds).padStart(4)} s  ${line}\n`);
    };
    const report = await soak({ ...plan, onProgress: print }).catch((error: unknown) => {
      print(`the run failed: ${error instanceof Error ? error.message : String(error)}`);
    });
    if (report === undefined) return 1;
    for (const line of summaryOf(plan, report)) print(line);
    return report.complaints.length === 0 ? 0 : 1;
  });
