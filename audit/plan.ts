/**
 * The steps of an audit, in order: a burst until the limit; the time until a request passes again;
 * what returns of a limit that is spent in two parts, or one by one; a burst after a pause, at
 * another place in a clock's windows. After these, again and again, the burst that distinguishes
 * most of the versions that remain.
 */
import { Allowance, type Cost } from './allowance.ts';
import { type Evidence, type Omitted, type Race, timesOf } from './evidence.ts';
import { type KeyTest, type Plan, testKeys } from './keys.ts';
import { doubling, firmRefusals, goldenShare, Recovery } from './recovery.ts';
import {
  bestBurst,
  disagrees,
  isOpen,
  mostPasses,
  type Planned,
  sizeOf,
  usualLimit,
} from './remaining.ts';
import type { Run } from './run.ts';

/** A race sends up to this many requests that may pass, and up to this many more: a socket each. */
const halfRace = 25;
/** Pauses in which a part of a limit comes back. */
const gradualShares = [0.12, 0.25];
/** A sliding counter looks back two windows, so a burst after this many meets an empty one. */
const counterWindows = 2.05;
/** After this many windows no earlier request counts, wherever a clock's windows begin. */
const pastWindows = 2.6;
/** After this many bursts in a row that show nothing new, the audit sends no more. */
const mostIdleBursts = 5;
/** How often each other caller is tested if the limit is one request. */
const roundsForOne = 3;
/** A test of other callers that shows little is made again, up to this often. */
const mostKeyRounds = 3;
/** The pause before the first burst: earlier requests no longer count in a shorter window. */
const firstPauseMs = 2_200;

export class Audit {
  readonly keyTests: KeyTest[] = [];
  readonly races: Race[] = [];
  /** Races in which more requests passed than any version that remained permits. */
  readonly #excess: Omitted[] = [];
  readonly #run: Run;
  readonly #plan: Plan;
  readonly #evidence: Evidence;
  #recovery: Recovery;
  #allowance: Allowance;
  /** How many requests of the first burst passed. */
  #firstRun = 0;
  /** How many bursts followed a pause. */
  #freshBursts = 0;

  constructor(run: Run, plan: Plan, evidence: Evidence) {
    this.#run = run;
    this.#plan = plan;
    this.#evidence = evidence;
    this.#allowance = new Allowance(run, evidence, plan.longestMs);
    this.#recovery = new Recovery(run, plan.subject, evidence, plan.longestMs);
  }

  async learn(): Promise<void> {
    this.#run.doing('a pause, so that short windows begin empty');
    await this.#run.until(Math.min(firstPauseMs, this.#plan.longestMs));
    await this.#learn();
    if (this.#isKnown && this.#isOpen()) this.#doubtOwn();
    if (this.#evidence.isAfterOthers) await this.#learnAgain();
  }

  async #learn(): Promise<void> {
    this.#run.doing('a burst until the limit');
    const begin = this.#run.now();
    const first = await this.#recovery.exhaust(this.#mostInBurst, firmRefusals);
    if (!first.isRefused) return;
    this.#firstRun = first.passed;
    const last = this.#evidence.decisions.findLast(({ passed }) => passed);
    const lengthMs = (last?.to ?? begin) - begin;
    this.#run.doing('when the first request passes again');
    if (await this.#recovery.recover(begin, doubling(30))) {
      const [again, [, high]] = [this.#run.now(), this.#recovery.span];
      let isMeasured = true;
      if (first.passed === 1) await this.#recovery.trickle();
      else if (await this.#recovery.spendInParts(first.passed, lengthMs))
        await this.#seeComeBack(again, high, Math.ceil(first.passed / 3));
      else isMeasured = false;
      if (isMeasured) this.#allowance.measuredMs = this.#recovery.span;
      else await this.#recovery.takeBitByBit(first.passed);
      await this.#burstAfterPause();
    }
    do {
      await this.#outlastPast();
      // In short windows, what separates more comes before another burst.
      const { requests, windows } = this.#freshBurstCost;
      const isShort = this.#allowance.isShortWindow;
      await this.#separate({ requests, windows: isShort ? 0 : windows });
    } while (await this.#repeat());
    const requests = this.#allowance.isShortWindow ? this.#freshBurstCost.requests : 0;
    await this.#separate({ requests, windows: 0 });
    if (this.keyTests.length === 0 && this.#plan.others.length > 0) {
      await this.#recovery.exhaust(this.#mostInBurst, 1);
      await this.#testKeys();
    }
    if (this.#isKnown) await this.#race();
    // What follows an answer that nothing explains shows what it was.
    if (!this.#isKnown) await this.#recovery.exhaust(this.#evidence.longestRun + 2, firmRefusals);
  }

  /** If only earlier requests are in doubt, waits until they no longer count, and asks again. */
  async #outlastPast(): Promise<void> {
    const at = this.#evidence.coveredAtMs;
    if (!this.#isOpen() || disagrees(this.#evidence) || at > this.#allowance.endMs) return;
    this.#run.doing('a pause, so that what was sent before no longer counts');
    await this.#run.until(at);
    await this.#recovery.exhaust(Math.ceil(usualLimit(this.#evidence) / 6), 1);
  }

  /** Learns again once no earlier request counts: a sliding counter looks back two windows. */
  async #learnAgain(): Promise<void> {
    const { longestMs } = this.#plan;
    this.#run.doing('a pause, so that what others sent no longer counts');
    await this.#run.until(Math.max(2 * longestMs, this.#run.now() + longestMs));
    this.#evidence.restart();
    this.#allowance = new Allowance(this.#run, this.#evidence, longestMs);
    this.#recovery = new Recovery(this.#run, this.#plan.subject, this.#evidence, longestMs);
    this.keyTests.length = 0;
    this.#freshBursts = 0;
    await this.#learn();
  }

  /** The races to report. Races with an excess are left out if a version explains it. */
  finish(): readonly Race[] {
    this.#doubtOwn();
    const isDoubted = this.#excess.length > 0 && this.#evidence.isDoubtedBy(this.#excess);
    return isDoubted ? this.races.filter(({ most, passed }) => passed <= most) : this.races;
  }

  /** Requests of other callers that passed may still have counted in the first caller's limit. */
  #doubtOwn(): void {
    const own = this.keyTests.map((test) => test.own).filter(({ sent }) => sent.length > 0);
    if (own.length > 0) this.#evidence.isDoubtedBy(own);
  }

  /** A limit of N needs about 4 N requests. */
  get #mostInBurst(): number {
    return Math.max(1, Math.floor((this.#run.settings.budget - 60) / 4)) + 1;
  }

  /** Asks the other callers, unless earlier tests have shown enough. */
  async #testKeys(): Promise<void> {
    if (this.#areKeysClear) return;
    const tests = await testKeys(this.#run, this.#evidence, this.#plan, this.#firstRun);
    this.keyTests.push(...tests);
  }

  /** If the limit is one request, one of another caller shows little: then it is asked again. */
  get #areKeysClear(): boolean {
    const asked = (this.#firstRun === 1 ? roundsForOne : 1) * this.#plan.others.length;
    const clear = this.keyTests.filter(({ isClear }) => isClear);
    return clear.length >= asked || this.keyTests.length >= mostKeyRounds * asked;
  }

  /**
   * Asks from time to time until the window that began at `begin` is over, and then whether more
   * comes back than `part`, which was spent at its start.
   */
  async #seeComeBack(begin: number, windowMs: number, part: number): Promise<void> {
    this.#run.doing('when the window is over');
    const readyAt = this.#recovery.readyAt();
    if (this.#recovery.isMoved && readyAt !== undefined) {
      // If each refusal prolongs the wait, only a pause ends it.
      await this.#run.until(readyAt + 25);
      await this.#recovery.exhaust(this.#mostInBurst, 1);
      return;
    }
    if (!(await this.#recovery.recover(begin, this.#recovery.sweep(begin, windowMs)))) return;
    await this.#recovery.exhaust(part + 2, 1);
    // If a request passed early, the limit may come back bit by bit.
    for (const share of this.#run.now() < begin + windowMs / 2 ? gradualShares : []) {
      await this.#run.until(this.#run.now() + share * windowMs);
      await this.#recovery.exhaust(Math.min(this.#mostInBurst, this.#allowance.requests), 1);
    }
  }

  /** After a pause: one request, a burst a part of a window later, then one from time to time. */
  async #burstAfterPause(): Promise<void> {
    this.#freshBursts += 1;
    await this.#pause();
    const windowMs = this.#allowance.windowMs[1];
    this.#run.doing('a burst at another time of the window');
    const begin = this.#run.now();
    if (!this.#isCounter) {
      await this.#recovery.ask();
      await this.#run.until(begin + 0.35 * windowMs);
    }
    await this.#recovery.exhaust(this.#mostInBurst, firmRefusals - 1);
    // Only after the pause and the burst is it known that no earlier request counts.
    await this.#testKeys();
    await this.#seeComeBack(begin, windowMs, 1);
  }

  /** Waits until the whole limit has come back, and then a part of a window longer. */
  async #pause(): Promise<void> {
    const [, likely] = this.#allowance.windowMs;
    this.#run.doing('a pause, until all has come back');
    // In windows of a clock, the next bursts then begin at other places.
    const share = (this.#freshBursts * goldenShare) % 1;
    const isWhole = this.#freshBursts % 2 === 1 || !this.#allowance.isShortWindow;
    const whole = this.#isCounter ? counterWindows : 1.01 + share;
    const windows = isWhole ? whole : 0.2 + share / 2;
    // The first test of other callers needs a limit in which no earlier request counts.
    const isUntested = this.keyTests.length === 0;
    const untested = isUntested ? this.#allowance.begin.ms + pastWindows * likely : 0;
    await this.#run.until(Math.max(this.#run.now() + likely * windows + 20, untested));
  }

  /**
   * Sends more requests at once than may pass. Comes last, because the order in which simultaneous
   * requests were decided is not known.
   */
  async #race(): Promise<void> {
    if (this.#freshBurstCost.requests > this.#allowance.requests) return;
    await this.#pause();
    const now = this.#run.now();
    const ready = mostPasses(this.#evidence, [now, now]);
    const alone = Math.max(0, ready - halfRace);
    for (let i = 0; i < alone; i += 1)
      if ((await this.#recovery.ask()).outcome === 'refused') return;
    this.#run.doing('more at once than may pass');
    const count =
      Math.min(ready, halfRace) + Math.min((usualLimit(this.#evidence) >> 1) + 6, halfRace);
    const at = this.#evidence.decisions.length;
    const sent = await this.#run.race(this.#plan.subject, count);
    const passes = sent.filter(({ outcome }) => outcome === 'passed');
    const passed = passes.length;
    const most = mostPasses(this.#evidence, timesOf(sent));
    if (passed <= most) {
      this.races.push({ sent, most, passed });
      this.#evidence.addTogether(passes);
      return;
    }
    // Too many passed at once, or the limit is higher than it seemed: sent one by one, they tell.
    this.#excess.push({ sent, at });
    await this.#pause();
    const whole = usualLimit(this.#evidence);
    const inTurn = await this.#recovery.exhaust(alone + passed + 2, 1);
    // A window may have ended meanwhile.
    const isExplained = this.#evidence.couldPass(at, passed, timesOf(sent));
    if (inTurn.isRefused && inTurn.passed >= whole && !isExplained)
      this.races.push({ sent, most: inTurn.passed - alone, passed });
  }

  /** Sends the bursts that separate most of what remains. Leaves `kept` for later steps. */
  async #separate(kept: Cost): Promise<void> {
    // Of one request, the times between single ones show all.
    if (usualLimit(this.#evidence) === 1) return;
    let idle = 0;
    while (idle < mostIdleBursts && this.#isOpen()) {
      const before = sizeOf(this.#evidence);
      const best = this.#bestBurst(idle, kept);
      if (best === undefined) return;
      this.#run.doing('the requests that separate most of what remains');
      if (!(await this.#lead(best.lead))) continue;
      await this.#run.until(best.at);
      await this.#recovery.exhaust(best.count, 1);
      idle = sizeOf(this.#evidence) < before * 0.98 ? 0 : idle + 1;
    }
  }

  get #isKnown(): boolean {
    return this.#evidence.candidates.length > 0;
  }

  /** Sends single requests at these times. False if one is refused. */
  async #lead(times: readonly number[]): Promise<boolean> {
    for (const time of times) {
      await this.#run.until(time);
      if ((await this.#recovery.ask()).outcome === 'refused') return false;
    }
    return true;
  }

  #bestBurst(idle: number, kept: Cost): Planned | undefined {
    const { paceMs } = this.#run.settings;
    const windowMs = this.#allowance.windowMs[1];
    // If the last bursts showed nothing, a later one may.
    const idleMs = (idle * windowMs) / 12;
    const now = this.#run.now() + paceMs + idleMs;
    const requests = this.#allowance.requests - kept.requests;
    const timeMs = this.#allowance.endMs - now - kept.windows * windowMs;
    if (requests < 1 || timeMs <= 0) return undefined;
    return bestBurst(this.#evidence, {
      now,
      paceMs,
      restMs: Math.max(...this.#recovery.span),
      horizonMs: windowMs * 1.5,
      requests,
      timeMs,
    });
  }

  /** What a burst after a pause costs, with a race after it. */
  get #freshBurstCost(): Cost {
    return { requests: usualLimit(this.#evidence) + 2 * halfRace, windows: 5 };
  }

  /**
   * A burst after a pause, at another time of the window; false if nothing is left to ask. A limit
   * over a longer time shows only after more requests than one short window takes.
   */
  async #repeat(): Promise<boolean> {
    const isShort = this.#allowance.isShortWindow;
    const isUseful = (this.#isOpen() || isShort) && this.#allowance.affords(this.#freshBurstCost);
    // Another test of the callers takes a few short windows, whatever else is known.
    const isUnclear = this.#isKnown && isShort && !this.#areKeysClear;
    if (!isUseful && !isUnclear) return false;
    await this.#burstAfterPause();
    return true;
  }

  get #isCounter(): boolean {
    const { candidates } = this.#evidence;
    const isCounter = candidates.every(({ family }) => family.algorithm === 'sliding_counter');
    return isCounter && candidates.length > 0;
  }

  #isOpen(): boolean {
    const isStillOpen = isOpen(this.#evidence);
    if (!isStillOpen) this.#evidence.learn();
    return isStillOpen;
  }
}
