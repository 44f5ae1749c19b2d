/**
 * What an audit asks, in which order. A burst until the limit; the time of the first recovery; what
 * comes back of a limit that was spent in two parts, or bit by bit; a burst after a pause, at another
 * place of a clock's windows. After that, the burst that separates most of what remains.
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

/** A race sends at most this many requests up to the limit and this many above: a socket each. */
const halfRace = 25;
/** Pauses in which a part of a limit comes back. */
const gradualShares = [0.12, 0.25];
/** A counter that slides looks back two windows: after them, a burst shows its limit alone. */
const counterWindows = 2.05;
/** In so many windows all of before is forgotten, wherever a clock's windows begin. */
const pastWindows = 2.6;
/** So many bursts that show nothing end the search for better ones. */
const mostIdle = 5;
/** So many bursts show about how long the window is that a block hides. */
const fewBursts = 2;
/** So many bursts after a pause leave little open of a short window. */
const surelyFresh = 3;
/** So often other callers are asked where one request passes. */
const roundsForOne = 3;
/** The pause before the first burst: earlier requests no longer count in a shorter window. */
const firstPauseMs = 2_200;

export class Audit {
  readonly keyTests: KeyTest[] = [];
  readonly races: Race[] = [];
  /** Requests at once of which more passed than any version permits that remained. */
  readonly #excess: Omitted[] = [];
  readonly #run: Run;
  readonly #plan: Plan;
  readonly #evidence: Evidence;
  #requests: Recovery;
  #allowance: Allowance;
  /** So many passed at first. */
  #firstRun = 0;
  /** So many bursts followed a pause. */
  #fresh = 0;

  constructor(run: Run, plan: Plan, evidence: Evidence) {
    this.#run = run;
    this.#plan = plan;
    this.#evidence = evidence;
    this.#allowance = new Allowance(run, evidence, plan.longestMs);
    this.#requests = new Recovery(run, plan.subject, evidence, plan.longestMs);
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
    const first = await this.#requests.exhaust(this.#mostInBurst, firmRefusals);
    if (!first.isRefused) return;
    this.#firstRun = first.passed;
    const last = this.#evidence.decisions.findLast(({ passed }) => passed);
    const lengthMs = (last?.to ?? begin) - begin;
    this.#run.doing('when the first request passes again');
    if (await this.#requests.recover(begin, doubling(30))) {
      const [again, [, high]] = [this.#run.now(), this.#requests.span];
      let isMeasured = true;
      if (first.passed === 1) await this.#requests.trickle();
      else if (await this.#requests.spendInParts(first.passed, lengthMs))
        await this.#seeComeBack(again, high, Math.ceil(first.passed / 3));
      else isMeasured = false;
      if (isMeasured) this.#allowance.measuredMs = this.#requests.span;
      else await this.#requests.takeBitByBit(first.passed);
      do {
        await this.#startAfresh();
        // A block hides its window, by which the next burst is planned.
        const mayBlock = this.#evidence.plain.some(({ family }) => family.refusals === 'block');
        if (mayBlock) await this.#separate(this.#afresh, fewBursts);
      } while (this.#isKnown && this.#allowance.isShortWindow && this.#fresh < surelyFresh);
    }
    do {
      await this.#outlastPast();
      await this.#separate(this.#afresh);
    } while (await this.#repeat());
    const requests = this.#allowance.isShortWindow ? this.#afresh.requests : 0;
    await this.#separate({ requests, windows: 0 });
    if (this.keyTests.length === 0 && this.#plan.others.length > 0) {
      await this.#requests.exhaust(this.#mostInBurst, 1);
      await this.#testKeys();
    }
    if (this.#isKnown) await this.#race();
    // What follows an answer that nothing explains shows what it was.
    if (!this.#isKnown) await this.#requests.exhaust(this.#evidence.longestRun + 2, firmRefusals);
  }

  /** Where all is known but what came before the audit, some requests later will do. */
  async #outlastPast(): Promise<void> {
    const at = this.#evidence.coveredAtMs;
    if (!this.#isOpen() || disagrees(this.#evidence) || at > this.#allowance.endMs) return;
    this.#run.doing('a pause, so that what was sent before no longer counts');
    await this.#run.until(at);
    await this.#requests.exhaust(Math.ceil(usualLimit(this.#evidence) / 6), 1);
  }

  /** Learns again when nothing counts any more that came before: a counter looks back two windows. */
  async #learnAgain(): Promise<void> {
    const { longestMs } = this.#plan;
    this.#run.doing('a pause, so that what others sent no longer counts');
    await this.#run.until(Math.max(2 * longestMs, this.#run.now() + longestMs));
    this.#evidence.restart();
    this.#allowance = new Allowance(this.#run, this.#evidence, longestMs);
    this.#requests = new Recovery(this.#run, this.#plan.subject, this.#evidence, longestMs);
    this.keyTests.length = 0;
    this.#fresh = 0;
    await this.#learn();
  }

  /** What surely passed in excess, or exactly; others of a known limiter make all else doubtful. */
  finish(): readonly Race[] {
    this.#doubtOwn();
    const isDoubted = this.#excess.length > 0 && this.#evidence.isDoubtedBy(this.#excess);
    return isDoubted ? this.races.filter(({ most, passed }) => passed <= most) : this.races;
  }

  /** What passed of others may have been of the limit of the first one. */
  #doubtOwn(): void {
    const own = this.keyTests.map((test) => test.own).filter(({ sent }) => sent.length > 0);
    if (own.length > 0) this.#evidence.isDoubtedBy(own);
  }

  /** A limit of N needs about 4 N requests. */
  get #mostInBurst(): number {
    return Math.max(1, Math.floor((this.#run.settings.budget - 60) / 4)) + 1;
  }

  /** Where one request passes, one of another caller shows little: then others are asked again. */
  async #testKeys(): Promise<void> {
    const rounds = this.#firstRun === 1 ? roundsForOne : 1;
    if (this.keyTests.length >= rounds * this.#plan.others.length) return;
    const tests = await testKeys(this.#run, this.#evidence, this.#plan, this.#firstRun);
    this.keyTests.push(...tests);
  }

  /**
   * Asks every now and then until the window that began then is over, and whether more come back than
   * the part that was spent at its begin.
   */
  async #seeComeBack(begin: number, windowMs: number, part: number): Promise<void> {
    this.#run.doing('when the window is over');
    const readyAt = this.#requests.readyAt();
    if (this.#requests.isMoved && readyAt !== undefined) {
      // Where each refusal prolongs the wait, only a pause ends it.
      await this.#run.until(readyAt + 25);
      await this.#requests.exhaust(this.#mostInBurst, 1);
      return;
    }
    if (!(await this.#requests.recover(begin, this.#requests.sweep(begin, windowMs)))) return;
    await this.#requests.exhaust(part + 2, 1);
    // Where it came back at once, it may come back bit by bit.
    for (const share of this.#run.now() < begin + windowMs / 2 ? gradualShares : []) {
      await this.#run.until(this.#run.now() + share * windowMs);
      await this.#requests.exhaust(Math.min(this.#mostInBurst, this.#allowance.requests), 1);
    }
  }

  /**
   * After a pause: one request, the others a part of a window later, and then one every now and then.
   * Every second time, the others come when the window is over that the first one may have opened:
   * where a refusal begins a block, only what comes before it shows the window.
   */
  async #startAfresh(): Promise<void> {
    const isSpread = this.#fresh % 2 === 1;
    this.#fresh += 1;
    await this.#pause();
    const windowMs = this.#allowance.windowMs[1];
    this.#run.doing('a burst at another time of the window');
    const opened = this.#run.now();
    if (isSpread || !this.#isCounter) {
      await this.#requests.ask();
      await this.#run.until(opened + (isSpread ? 0.5 : 0.35) * windowMs);
    }
    if (isSpread) {
      await this.#requests.exhaust(Math.ceil(usualLimit(this.#evidence) / 3), 1);
      await this.#run.until(opened + 1.1 * windowMs);
    }
    const begin = isSpread ? this.#run.now() : opened;
    await this.#requests.exhaust(this.#mostInBurst, firmRefusals - 1);
    // Only now is it known that no requests of before count.
    await this.#testKeys();
    // Where refusals count, too, they are few this time.
    if (isSpread) await this.#run.until(begin + 0.75 * windowMs);
    await this.#seeComeBack(begin, windowMs, 1);
  }

  /** Waits until what was spent has come back, and a part of a window more. */
  async #pause(): Promise<void> {
    const [, likely] = this.#allowance.windowMs;
    this.#run.doing('a pause, until all has come back');
    // Where the clock has its windows, those of the next bursts begin at other places of them.
    const share = (this.#fresh * goldenShare) % 1;
    const isWhole = this.#fresh % 2 === 1 || !this.#allowance.isShortWindow;
    const whole = this.#isCounter ? counterWindows : 1.01 + share;
    const windows = isWhole ? whole : 0.2 + share / 2;
    // Who shares the limit shows when nothing of before the audit counts any more.
    const isUntested = this.keyTests.length === 0;
    const untested = isUntested ? this.#allowance.begin.ms + pastWindows * likely : 0;
    await this.#run.until(Math.max(this.#run.now() + likely * windows + 20, untested));
  }

  /**
   * After all else, as the order of answers at once is not known: more than may pass, where the last of
   * a limit is left.
   */
  async #race(): Promise<void> {
    if (this.#afresh.requests > this.#allowance.requests) return;
    await this.#pause();
    const now = this.#run.now();
    const ready = mostPasses(this.#evidence, [now, now]);
    const alone = Math.max(0, ready - halfRace);
    for (let i = 0; i < alone; i += 1)
      if ((await this.#requests.ask()).outcome === 'refused') return;
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
    // Either more pass at once, or the limit is higher than what was seen: one by one, they tell.
    this.#excess.push({ sent, at });
    await this.#pause();
    const whole = usualLimit(this.#evidence);
    const inTurn = await this.#requests.exhaust(alone + passed + 2, 1);
    // A window may have ended meanwhile.
    const isExplained = this.#evidence.couldPass(at, passed, timesOf(sent));
    if (inTurn.isRefused && inTurn.passed >= whole && !isExplained)
      this.races.push({ sent, most: inTurn.passed - alone, passed });
  }

  /** Asks bursts, each the one that separates most of what remains, and keeps something back. */
  async #separate(kept: Cost, most = Number.POSITIVE_INFINITY): Promise<void> {
    let idle = 0;
    for (let bursts = 0; bursts < most && idle < mostIdle && this.#isOpen(); bursts += 1) {
      const before = sizeOf(this.#evidence);
      const best = this.#bestBurst(idle, kept);
      if (best === undefined) return;
      this.#run.doing('the requests that separate most of what remains');
      if (!(await this.#lead(best.lead))) continue;
      await this.#run.until(best.at);
      await this.#requests.exhaust(best.count, 1);
      idle = sizeOf(this.#evidence) < before * 0.98 ? 0 : idle + 1;
    }
  }

  get #isKnown(): boolean {
    return this.#evidence.candidates.length > 0;
  }

  /** False if one of the requests does not pass. */
  async #lead(times: readonly number[]): Promise<boolean> {
    for (const time of times) {
      await this.#run.until(time);
      if ((await this.#requests.ask()).outcome === 'refused') return false;
    }
    return true;
  }

  #bestBurst(idle: number, kept: Cost): Planned | undefined {
    const { paceMs } = this.#run.settings;
    const windowMs = this.#allowance.windowMs[1];
    // Where the last requests showed nothing, later ones may.
    const idleMs = (idle * windowMs) / 12;
    const now = this.#run.now() + paceMs + idleMs;
    const requests = this.#allowance.requests - kept.requests;
    const timeMs = this.#allowance.endMs - now - kept.windows * windowMs;
    if (requests < 1 || timeMs <= 0) return undefined;
    return bestBurst(this.#evidence, { now, paceMs, horizonMs: windowMs * 1.5, requests, timeMs });
  }

  /** What a burst after a pause takes, and a race after it. */
  get #afresh(): Cost {
    return { requests: usualLimit(this.#evidence) + 2 * halfRace, windows: 5 };
  }

  /**
   * A burst after a pause, at another time of the window; false if nothing is left to ask. A limit
   * over a longer time shows only after more requests than one short window takes.
   */
  async #repeat(): Promise<boolean> {
    const isUseful = this.#isOpen() || this.#allowance.isShortWindow;
    if (!isUseful || !this.#allowance.affords(this.#afresh)) return false;
    await this.#startAfresh();
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
