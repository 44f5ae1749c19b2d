/**
 * The steps of an audit, in order:
 *
 * 1. A burst until the limit. Without a limit, or if a queue seems to delay requests: many at once,
 *    then the audit ends.
 * 2. The time until a request passes again.
 * 3. What comes back if the limit is spent in two parts, or one by one.
 * 4. A burst after a pause, at another time of the window. It also tests who shares the limit, if it
 *    can show that. If replies are slow: a request after a silence, and many at once.
 * 5. Repeatedly, the burst that separates most of the versions that remain.
 * 6. Who shares the limit, if that is open. A race. If there may be a bucket, too: the limit across
 *    the end of a window.
 * 7. The times at which requests pass again, once more. If nothing explains the answers: a burst.
 */
import { Allowance, type Cost } from './allowance.ts';
import type { Evidence } from './evidence.ts';
import * as experiments from './experiments.ts';
import { KeyTests, type Subjects } from './keys.ts';
import { mayHaveBucket } from './none-of-these.ts';
import { enoughForGap, QueueTests } from './queue.ts';
import { mostInRace, type Races } from './race.ts';
import { firmRefusals, growingWaits, Recovery, waitsInShortWindow } from './recovery.ts';
import {
  disagrees,
  hasEndingWindow,
  isBlockKnown,
  isKindCertain,
  isOfTheClock,
  isOpen,
  plannedLimit,
  timeInWindow,
  usualLimit,
  usualWindow,
} from './remaining.ts';
import type { Run } from './run.ts';
import { SeparatingBursts } from './separating-bursts.ts';

// Step 4: the burst after the pause.
/** After a pause, one request opens a window this share of it before the burst. */
const requestBeforeBurst = 0.35;
/** In a long window, the burst ends this share of it before its end: then few tokens return. */
const restAfterBurst = 0.2;
/** A burst after a pause takes at most this many windows, with a race after it. */
const freshBurstWindows = 5;
/** Replies are slow if a window has fewer than this many: then it may be one of a few replies. */
const fewestQuickReplies = 50;

// Step 5.
/** Of a limit of N, N divided by this shows whether requests pass that earlier ones would use. */
const partAfterEarlier = 6;

// Step 6: the race, and the limit across the end of a window.
/** A race comes at this share of a window of the clock: later than its middle, with room left. */
const lateInWindow = 0.6;
/** A limit is spent this share of a window before its end: earlier on a machine that was too late. */
const earlyShares = [0.04, 0.08, 0.12];
/** To spend a limit across the end of a window takes this many of them. */
const acrossEndWindows = 3.2;

/** The steps, taken once. */
export class Steps {
  readonly keyTests: KeyTests;
  readonly queueTests: QueueTests;
  readonly #run: Run;
  readonly #evidence: Evidence;
  readonly #races: Races;
  readonly #allowance: Allowance;
  readonly #recovery: Recovery;
  readonly #tools: experiments.Tools;
  readonly #bursts: SeparatingBursts;
  /** How many bursts followed a pause. */
  #freshBursts = 0;

  constructor(run: Run, subjects: Subjects, evidence: Evidence, races: Races) {
    this.#run = run;
    this.#evidence = evidence;
    this.#races = races;
    this.queueTests = new QueueTests(run, subjects, evidence, races);
    this.keyTests = new KeyTests(run, evidence, subjects);
    this.#allowance = new Allowance(run, evidence);
    this.#recovery = new Recovery(run, subjects.first, evidence, this.#allowance);
    this.#tools = { run, evidence, allowance: this.#allowance, recovery: this.#recovery };
    this.#bursts = new SeparatingBursts(this.#tools);
  }

  async take(): Promise<void> {
    const begin = this.#run.now();
    if (!(await this.#findLimit())) return;
    const last = this.#evidence.decisions.findLast(({ passed }) => passed);
    const firstBurstMs = (last?.to ?? begin) - begin;
    this.#run.doing('when the first request passes again');
    if (await this.#recovery.recover(begin, growingWaits())) {
      await this.#watchPartsReturn(firstBurstMs);
      await this.#burstAfterPause();
      await this.#askIfSlow(firstBurstMs);
    }
    await this.#separateAll();
    await this.#testCallersAtLast();
    if (this.#evidence.isKnown && this.#affordsRace)
      await this.#races.race(this.#recovery, () => this.#pauseBeforeRace());
    await this.#spendAcrossEnd();
    await experiments.confirmPasses(this.#tools);
    // What follows an answer that nothing explains shows what it was.
    if (this.#evidence.isKnown) return;
    const most = this.#evidence.longestRun + 2;
    await this.#recovery.sendUntilRefused({ most, refusals: firmRefusals });
  }

  /** Step 1. False if no limit was met, or a queue instead: then the audit ends. */
  async #findLimit(): Promise<boolean> {
    this.#run.doing('a burst until the limit');
    const burst = (most: number) =>
      this.#recovery.sendUntilRefused({ most, refusals: firmRefusals });
    const { mostInBurst } = this.#allowance;
    const few = await burst(Math.min(enoughForGap, mostInBurst));
    if (!few.isRefused && (await this.queueTests.lookForDelays())) return false;
    let { passed, isRefused } = few;
    if (!isRefused) {
      const rest = await burst(mostInBurst - passed);
      passed += rest.passed;
      isRefused = rest.isRefused;
    }
    if (!isRefused) await this.queueTests.learn();
    this.keyTests.firstPasses = passed;
    return isRefused;
  }

  /** The last chance to test who shares the limit, also for a test that may show nothing. */
  async #testCallersAtLast(): Promise<void> {
    if (this.keyTests.done.length > 0 || !this.keyTests.areNeeded || !this.#canTestCallers) return;
    await this.#recovery.sendUntilRefused({ most: this.#allowance.mostInBurst, refusals: 1 });
    await this.keyTests.make();
  }

  /** While a short window may come with a bucket, spends the limit across the end of one. */
  async #spendAcrossEnd(): Promise<void> {
    const cost = { requests: 2 * this.#evidence.limit[1] + 2, windows: acrossEndWindows };
    for (const earlyShare of earlyShares) {
      const isWindow = this.#evidence.candidates.every(hasEndingWindow);
      if (!isWindow || !isKindCertain(this.#evidence)) return;
      if (!this.#allowance.affordsIfOpen(cost) || !mayHaveBucket(this.#evidence)) return;
      await experiments.spendAcrossEnd(this.#tools, this.#races, earlyShare);
    }
  }

  get #plannedLimit(): number {
    return plannedLimit(this.#evidence, this.keyTests.firstPasses);
  }

  /** Step 3. `firstBurstMs`: how long the requests of the first burst took to pass. */
  async #watchPartsReturn(firstBurstMs: number): Promise<void> {
    const begin = this.#run.now();
    const [, windowMs] = this.#recovery.span;
    const limit = this.#plannedLimit;
    if (limit === 1) {
      await experiments.askSingly(this.#tools);
    } else if (await experiments.spendInParts(this.#tools, limit, firstBurstMs)) {
      await this.#recovery.watchReturn(begin, windowMs, () => this.#plannedLimit / 3);
    } else {
      // Shows single tokens, not how long the whole limit takes to come back.
      await experiments.takeBitByBit(this.#tools, limit);
      return;
    }
    this.#allowance.measuredMs = this.#recovery.span;
  }

  /** Step 4: after a pause, one request, the burst, and then one request from time to time. */
  async #burstAfterPause(): Promise<void> {
    this.#freshBursts += 1;
    // In short windows, every second pause is for a part of the limit.
    const isForWholeLimit = this.#freshBursts % 2 === 1 || !this.#allowance.isShortWindow;
    await this.#pause(isForWholeLimit);
    const windowMs = this.#allowance.windowMs[1];
    const isShort = this.#allowance.isShortWindow;
    this.#run.doing('a burst at another time of the window');
    const begin = this.#run.now();
    const burstMs = this.#plannedLimit * Math.max(this.#run.settings.paceMs, this.#run.replyMs);
    const { candidates } = this.#evidence;
    const mayBeOpened = candidates.some(({ family: { name } }) => name === 'fixed_window');
    // In a long window whose end is known, the burst ends `restAfterBurst` before it. Any other is not
    // late: a window of the clock may end before it, and twice as many pass.
    const latestShare = 1 - restAfterBurst - burstMs / windowMs;
    if (!this.#evidence.isCounter) {
      await this.#recovery.ask();
      const isOfClock = !isShort && candidates.every(isOfTheClock);
      const share = mayBeOpened && !isShort ? latestShare : 0;
      const soonest = begin + Math.max(requestBeforeBurst, share) * windowMs;
      await this.#run.until(isOfClock ? timeInWindow(candidates, latestShare, begin) : soonest);
    }
    const most = this.#allowance.mostInBurst;
    await this.#recovery.sendUntilRefused({ most, refusals: firmRefusals - 1 });
    // Only after the pause and the burst is it known that no earlier request counts.
    if (this.#canTestCallers && this.keyTests.canShow) await this.keyTests.make();
    // After a block, all counts begin again: its end shows nothing of the window.
    if (isBlockKnown(this.#evidence)) return;
    await this.#recovery.watchReturn(begin, windowMs, (sinceBurstMs) =>
      isShort ? this.#plannedLimit : this.#returnedAfter(sinceBurstMs),
    );
  }

  /**
   * How many passes after the end of a long window show that it is one: more than a bucket, which
   * was empty after the burst, has back by then. One, if no bucket can be there.
   */
  #returnedAfter(sinceBurstMs: number): number {
    const isWindow = this.#evidence.candidates.every(hasEndingWindow);
    if (isWindow && !mayHaveBucket(this.#evidence)) return 1;
    const part = Math.min(1, sinceBurstMs / usualWindow(this.#evidence)) * this.#plannedLimit;
    return Math.min(part, this.#allowance.requests);
  }

  /**
   * False for a limit of one request while its kind or window is open: then another caller with a
   * limit of its own looks like one that shares it, and all that is known would be in doubt.
   */
  get #canTestCallers(): boolean {
    return this.keyTests.firstPasses > 1 || !disagrees(this.#evidence);
  }

  /**
   * Step 4 if replies are slow: short windows may explain all that was asked without a pause, and
   * all that was asked one by one. `firstBurstMs`: how long the first burst took.
   */
  async #askIfSlow(firstBurstMs: number): Promise<void> {
    const [, windowMs] = this.#allowance.windowMs;
    if (this.#areRepliesSlow && this.#evidence.isKnown) {
      await this.#pause();
      await experiments.askAfterSilence(this.#tools, windowMs);
    }
    const burst = { count: this.keyTests.firstPasses, ms: firstBurstMs };
    await experiments.excludeBriefWindows(this.#tools, this.#races, burst);
  }

  get #areRepliesSlow(): boolean {
    return this.#run.replyMs >= this.#allowance.windowMs[1] / fewestQuickReplies;
  }

  /** Waits until the limit has come back, and longer. */
  async #pause(isForWholeLimit = true): Promise<void> {
    this.#run.doing('a pause, until requests have come back');
    const isUntested = this.keyTests.done.length === 0;
    const pause = { isForWholeLimit, isUntested, freshBursts: this.#freshBursts };
    await this.#run.until(experiments.endOfPause(this.#tools, pause));
  }

  /**
   * If only windows of the clock remain, races late in one: the next request passes after its end,
   * while one that any other limiter refuses for most of such a window is still refused then.
   */
  async #pauseBeforeRace(): Promise<void> {
    const { candidates } = this.#evidence;
    if (isOpen(this.#evidence) || !candidates.every(isOfTheClock)) return this.#pause();
    this.#run.doing('a pause, until more than half of the next window is over');
    const next = timeInWindow(candidates, 0, this.#run.now());
    await this.#run.until(timeInWindow(candidates, lateInWindow, next));
  }

  /** Step 5, with further bursts after a pause while they are useful. */
  async #separateAll(): Promise<void> {
    // Behind slow replies, earlier requests explain much. In short windows, in which requests are
    // cheap, the bursts exclude most of that first.
    if (!this.#areRepliesSlow || !this.#allowance.isShortWindow) this.#evidence.lookBack();
    do {
      await this.#waitForEarlier();
      // In short windows, what separates more comes before another burst.
      const { requests, windows } = this.#freshBurstCost;
      const isShort = this.#allowance.isShortWindow;
      await this.#bursts.send({ requests, windows: isShort ? 0 : windows });
    } while (await this.#repeat());
    const requests = this.#allowance.isShortWindow ? this.#freshBurstCost.requests : 0;
    await this.#bursts.send({ requests, windows: 0 });
  }

  /** If only earlier requests are in doubt, waits until they no longer count, and asks again. */
  async #waitForEarlier(): Promise<void> {
    const at = this.#evidence.allowsForEarlierAtMs;
    if (!isOpen(this.#evidence) || disagrees(this.#evidence)) return;
    if (at > this.#allowance.endMs) return;
    this.#run.doing('a pause, so that what was sent before no longer counts');
    await this.#run.until(at);
    const most = Math.ceil(usualLimit(this.#evidence) / partAfterEarlier);
    await this.#recovery.sendUntilRefused({ most, refusals: 1 });
  }

  /**
   * Step 4 again; false if nothing is left to ask. A limit over a longer time shows only after more
   * requests than one short window takes.
   */
  async #repeat(): Promise<boolean> {
    const isShort = this.#allowance.isShortWindow;
    const isWanted = isOpen(this.#evidence) || isShort;
    const isUseful = isWanted && this.#allowance.affords(this.#freshBurstCost);
    // Another test of the callers takes a few short windows, whatever else is known.
    const isUntested =
      this.#evidence.isKnown && isShort && this.keyTests.areNeeded && this.keyTests.canShow;
    if (!isUseful && !isUntested) return false;
    await this.#burstAfterPause();
    return true;
  }

  /**
   * True if a pause and a race are affordable. An answer that was open for long may have used more
   * requests than one that is certain may; the race may then use as many as an open one.
   */
  get #affordsRace(): boolean {
    const requests = usualLimit(this.#evidence) + mostInRace;
    const cost = { requests, windows: experiments.counterWindows };
    return requests <= this.#allowance.requests || this.#allowance.affordsIfOpen(cost);
  }

  /** What a burst after a pause costs, with a race after it. */
  get #freshBurstCost(): Cost {
    const waits = this.#allowance.isShortWindow ? waitsInShortWindow : 0;
    const requests = usualLimit(this.#evidence) + waits + mostInRace;
    return { requests, windows: freshBurstWindows };
  }
}
