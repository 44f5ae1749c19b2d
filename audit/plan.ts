/**
 * The steps of an audit, in order:
 *
 * 1. a burst until the limit;
 * 2. the time until a request passes again;
 * 3. what comes back if the limit is spent in two parts, or one by one;
 * 4. a burst after a pause, at another time of the window; if replies are slow, also a request after
 *    a silence;
 * 5. again and again, the burst that separates most of the versions that remain;
 * 6. a race;
 * 7. the time until a request passes again, once more.
 */
import { Allowance, type Cost } from './allowance.ts';
import { bestBurst, type Planned } from './best-burst.ts';
import type { Evidence } from './evidence.ts';
import { type KeyTest, KeyTests, type Subjects } from './keys.ts';
import { mostInRace, type Race, Races } from './race.ts';
import { doublingWaits, firmRefusals, goldenShare, Recovery } from './recovery.ts';
import { disagrees, isOpen, nextPass, sizeOf, usualLimit } from './remaining.ts';
import type { Run } from './run.ts';

/** The pause before the first burst: earlier requests no longer count in a shorter window. */
const firstPauseMs = 2_200;

export class Plan {
  readonly #run: Run;
  readonly #subjects: Subjects;
  readonly #evidence: Evidence;
  readonly #races: Races;
  #steps: Steps;

  constructor(run: Run, subjects: Subjects, evidence: Evidence) {
    this.#run = run;
    this.#subjects = subjects;
    this.#evidence = evidence;
    this.#races = new Races(run, subjects.first, evidence);
    this.#steps = new Steps(run, subjects, evidence, this.#races);
  }

  async learn(): Promise<void> {
    this.#run.doing('a pause, so that short windows begin empty');
    await this.#run.until(Math.min(firstPauseMs, this.#evidence.longestMs));
    await this.#steps.take();
    if (this.#evidence.isKnown) this.#steps.keyTests.doubt();
    if (this.#evidence.isAfterOthers) await this.#learnAgain();
  }

  /** What the audit has besides the evidence. Call it once, after the last request. */
  finish(): { readonly keyTests: readonly KeyTest[]; readonly races: readonly Race[] } {
    const { keyTests } = this.#steps;
    keyTests.doubt();
    return { keyTests: keyTests.done, races: this.#races.finish() };
  }

  /** Learns again once no earlier request counts: a sliding counter looks back two windows. */
  async #learnAgain(): Promise<void> {
    const { longestMs } = this.#evidence;
    this.#run.doing('a pause, so that what others sent no longer counts');
    await this.#run.until(Math.max(2 * longestMs, this.#run.now() + longestMs));
    this.#evidence.restart();
    this.#steps = new Steps(this.#run, this.#subjects, this.#evidence, this.#races);
    await this.#steps.take();
  }
}

/** Of a limit of N, N divided by this is asked once earlier requests no longer count. */
const partAfterPast = 6;
/** A pause is this much longer than planned. */
const pauseMarginMs = 20;
/** A pause for the whole limit takes this many windows, and a part of one. */
const wholePause = 1.01;
/** A pause for a part of the limit takes this many windows, and a part of one. */
const partPause = 0.2;
/** A sliding counter looks back two windows, so a burst after this many meets an empty one. */
const counterWindows = 2.05;
/** After this many windows no earlier request counts, wherever a clock's windows begin. */
const pastWindows = 2.6;
/** After a pause, one request is sent this share of a window before the burst. */
const requestBeforeBurst = 0.35;
/** Replies are slow if a window has fewer than this many. */
const fewestQuickReplies = 50;
/** A burst after a pause takes at most this many windows, with a race after it. */
const freshBurstWindows = 5;
/** A race comes at this share of a window of the clock. */
const lateInWindow = 0.6;
/** After this many windows the next request surely passes. */
const surelyNext = 1.1;
/** After this many bursts in a row that show nothing new, the audit sends no more. */
const mostIdleBursts = 5;
/** A burst has shown something if less than this share of the versions remains. */
const mostOfSize = 0.98;
/** After a burst that showed nothing, the next one is planned this part of a window later. */
const idleParts = 12;
/** To plan a burst may take this many times as long as to plan the last one. */
const planningMargin = 1.2;
/** Bursts are planned for this many windows ahead. */
const windowsAhead = 1.5;

/** The steps, taken once. */
class Steps {
  readonly keyTests: KeyTests;
  readonly #run: Run;
  readonly #evidence: Evidence;
  readonly #races: Races;
  readonly #allowance: Allowance;
  readonly #recovery: Recovery;
  readonly #hasOtherSubjects: boolean;
  /** How many requests of the first burst passed. */
  #firstPasses = 0;
  /** How many bursts followed a pause. */
  #freshBursts = 0;
  /** How long the next burst takes to plan: on a busy machine longer than a short window. */
  #planningMs = 0;

  constructor(run: Run, subjects: Subjects, evidence: Evidence, races: Races) {
    this.#run = run;
    this.#evidence = evidence;
    this.#races = races;
    this.#hasOtherSubjects = subjects.others.length > 0;
    this.keyTests = new KeyTests(run, evidence, subjects);
    this.#allowance = new Allowance(run, evidence);
    this.#recovery = new Recovery(run, subjects.first, evidence, this.#allowance);
  }

  async take(): Promise<void> {
    this.#run.doing('a burst until the limit');
    const begin = this.#run.now();
    const first = await this.#recovery.exhaust(this.#allowance.mostInBurst, firmRefusals);
    if (!first.isRefused) return;
    this.#firstPasses = first.passed;
    const last = this.#evidence.decisions.findLast(({ passed }) => passed);
    const lengthMs = (last?.to ?? begin) - begin;
    this.#run.doing('when the first request passes again');
    if (await this.#recovery.recover(begin, doublingWaits())) {
      await this.#watchPartsReturn(lengthMs);
      await this.#burstAfterPause();
      await this.#askAfterSilence();
    }
    await this.#separateAll();
    if (this.keyTests.done.length === 0 && this.#hasOtherSubjects) {
      await this.#recovery.exhaust(this.#allowance.mostInBurst, 1);
      await this.keyTests.make(this.#firstPasses);
    }
    if (this.#evidence.isKnown && this.#freshBurstCost.requests <= this.#allowance.requests)
      await this.#races.race(this.#recovery, () => this.#pauseBeforeRace());
    await this.#confirm();
    // What follows an answer that nothing explains shows what it was.
    if (!this.#evidence.isKnown)
      await this.#recovery.exhaust(this.#evidence.longestRun + 2, firmRefusals);
  }

  /**
   * Step 7: asks just before a request passes, by all that remains, and just after. A limiter that
   * restarted can look like another one until then.
   */
  async #confirm(): Promise<void> {
    if (!this.#evidence.isKnown || this.#checkOpen()) return;
    // If refusals may count, those of the race delay the next pass, and no decision says when.
    if (this.#evidence.candidates.some(({ family }) => family.refusals !== 'free')) return;
    const now = this.#run.now();
    const waits = nextPass(this.#evidence, now, this.#evidence.windowMs[1] * surelyNext);
    const isAffordable = waits.length <= this.#allowance.requests;
    if (!isAffordable || now + waits[1] > this.#allowance.confirmedMs) return;
    this.#run.doing('whether the next request passes when it should');
    for (const waitMs of waits) {
      await this.#run.until(now + waitMs);
      await this.#recovery.ask();
    }
  }

  /** Step 3. `lengthMs`: how long the requests of the first burst took to pass. */
  async #watchPartsReturn(lengthMs: number): Promise<void> {
    const begin = this.#run.now();
    const [, windowMs] = this.#recovery.span;
    const limit = this.#firstPasses;
    if (limit === 1) await this.#recovery.askSingly();
    else if (await this.#recovery.spendInParts(limit, lengthMs))
      await this.#recovery.watchReturn(begin, windowMs, Math.ceil(limit / 3));
    else return this.#recovery.takeBitByBit(limit);
    this.#allowance.measuredMs = this.#recovery.span;
  }

  /** Step 4: after a pause, one request, the burst, and then one request from time to time. */
  async #burstAfterPause(): Promise<void> {
    this.#freshBursts += 1;
    await this.#pause();
    const windowMs = this.#allowance.windowMs[1];
    this.#run.doing('a burst at another time of the window');
    const begin = this.#run.now();
    if (!this.#evidence.isCounter) {
      await this.#recovery.ask();
      await this.#run.until(begin + requestBeforeBurst * windowMs);
    }
    await this.#recovery.exhaust(this.#allowance.mostInBurst, firmRefusals - 1);
    // Only after the pause and the burst is it known that no earlier request counts.
    await this.keyTests.make(this.#firstPasses);
    await this.#recovery.watchReturn(begin, windowMs, 1);
  }

  /** Step 4 if replies are slow: short windows may explain all that was asked without a pause. */
  async #askAfterSilence(): Promise<void> {
    const [, windowMs] = this.#allowance.windowMs;
    if (this.#run.replyMs < windowMs / fewestQuickReplies || !this.#evidence.isKnown) return;
    await this.#pause();
    await this.#recovery.askAfterSilence(windowMs);
  }

  /** Waits until the limit, or in short windows in turn a part of it, has come back, and longer. */
  async #pause(): Promise<void> {
    const [, likely] = this.#allowance.windowMs;
    this.#run.doing('a pause, until requests have come back');
    // In windows of a clock, the next bursts then begin at other places.
    const share = (this.#freshBursts * goldenShare) % 1;
    const isWhole = this.#freshBursts % 2 === 1 || !this.#allowance.isShortWindow;
    const whole = this.#evidence.isCounter ? counterWindows : wholePause + share;
    const windows = isWhole ? whole : partPause + share / 2;
    // The first test of other callers needs a limit in which no earlier request counts.
    const isUntested = this.keyTests.done.length === 0;
    const untested = isUntested ? this.#allowance.begin.ms + pastWindows * likely : 0;
    await this.#run.until(Math.max(this.#run.now() + likely * windows + pauseMarginMs, untested));
  }

  /**
   * If only windows of the clock remain, races late in one: the next request passes after its end,
   * while one that any other limiter refuses for most of such a window is still refused then.
   */
  async #pauseBeforeRace(): Promise<void> {
    const { candidates } = this.#evidence;
    if (this.#checkOpen() || !candidates.every(({ family }) => family.name === 'aligned_window'))
      return this.#pause();
    const now = this.#run.now();
    const times = candidates.map(({ version: { windowMs, phase } }) => {
      const [ms, begin] = [windowMs[1], phase[1]];
      return (Math.floor(now / ms - begin) + 1 + begin + lateInWindow) * ms;
    });
    this.#run.doing('a pause, until the next window is half over');
    await this.#run.until(Math.max(...times));
  }

  /** Step 5, with further bursts after a pause while they are useful. */
  async #separateAll(): Promise<void> {
    do {
      await this.#waitForPast();
      // In short windows, what separates more comes before another burst.
      const { requests, windows } = this.#freshBurstCost;
      const isShort = this.#allowance.isShortWindow;
      await this.#separate({ requests, windows: isShort ? 0 : windows });
    } while (await this.#repeat());
    const requests = this.#allowance.isShortWindow ? this.#freshBurstCost.requests : 0;
    await this.#separate({ requests, windows: 0 });
  }

  /** If only earlier requests are in doubt, waits until they no longer count, and asks again. */
  async #waitForPast(): Promise<void> {
    const at = this.#evidence.coveredAtMs;
    if (!this.#checkOpen() || disagrees(this.#evidence) || at > this.#allowance.endMs) return;
    this.#run.doing('a pause, so that what was sent before no longer counts');
    await this.#run.until(at);
    await this.#recovery.exhaust(Math.ceil(usualLimit(this.#evidence) / partAfterPast), 1);
  }

  /** Sends the bursts that separate most of what remains. Leaves `kept` for later steps. */
  async #separate(kept: Cost): Promise<void> {
    // For a limit of one request, the times between single requests show everything.
    if (this.#evidence.longestRun === 1) return;
    let idle = 0;
    while (idle < mostIdleBursts && this.#checkOpen()) {
      const before = sizeOf(this.#evidence);
      const best = this.#bestBurst(idle, kept);
      if (best === undefined) return;
      this.#run.doing('the requests that separate most of what remains');
      if (!(await this.#recovery.askAt(best.lead))) continue;
      await this.#run.until(best.at);
      await this.#recovery.exhaust(best.count, 1);
      idle = sizeOf(this.#evidence) < before * mostOfSize ? 0 : idle + 1;
    }
  }

  #bestBurst(idle: number, kept: Cost): Planned | undefined {
    const { replyMs } = this.#run;
    const paceMs = Math.max(this.#run.settings.paceMs, replyMs);
    const windowMs = this.#allowance.windowMs[1];
    const idleMs = (idle * windowMs) / idleParts;
    const begin = this.#run.now();
    const now = begin + this.#planningMs + paceMs + idleMs;
    const requests = this.#allowance.requests - kept.requests;
    const timeMs = this.#allowance.endMs - now - kept.windows * windowMs;
    if (requests < 1 || timeMs <= 0) return undefined;
    const best = bestBurst(this.#evidence, {
      now,
      paceMs,
      replyMs,
      restMs: Math.max(...this.#recovery.span),
      horizonMs: windowMs * windowsAhead,
      requests,
      timeMs,
    });
    this.#planningMs = (this.#run.now() - begin) * planningMargin;
    return best;
  }

  /**
   * Step 4 again; false if nothing is left to ask. A limit over a longer time shows only after more
   * requests than one short window takes.
   */
  async #repeat(): Promise<boolean> {
    const isShort = this.#allowance.isShortWindow;
    const isUseful =
      (this.#checkOpen() || isShort) && this.#allowance.affords(this.#freshBurstCost);
    // Another test of the callers takes a few short windows, whatever else is known.
    const isUntested =
      this.#evidence.isKnown && isShort && this.keyTests.areNeeded(this.#firstPasses);
    if (!isUseful && !isUntested) return false;
    await this.#burstAfterPause();
    return true;
  }

  /** What a burst after a pause costs, with a race after it. */
  get #freshBurstCost(): Cost {
    return { requests: usualLimit(this.#evidence) + mostInRace, windows: freshBurstWindows };
  }

  /** True if something is still open. If not, the evidence is settled. */
  #checkOpen(): boolean {
    const isStillOpen = isOpen(this.#evidence);
    if (!isStillOpen) this.#evidence.settle();
    return isStillOpen;
  }
}
