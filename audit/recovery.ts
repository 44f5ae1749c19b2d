/**
 * Requests of the first caller, one after the other: bursts until the limit, and the time until a
 * request passes again.
 */
import type { Span } from '#judging/limiter/space/decision.ts';
import type { Allowance } from './allowance.ts';
import type { Evidence } from './evidence.ts';
import { waitOf } from './fields.ts';
import type { AuditedExchange, Run, Subject } from './run.ts';

export interface Burst {
  readonly passed: number;
  readonly isRefused: boolean;
}

/** This many refusals in a row end a burst. Fewer can come from one of several counters. */
export const firmRefusals = 4;
/** A burst ends this many requests after its first refusal, even if some of them pass. */
const mostMixed = 16;
/** The most stated waits to try: one that is too short would be tried again and again. */
const mostStated = 4;
/** Windows that are longer than this many stated waits are not looked for. */
const mostWaitsInWindow = 4;

/** The first wait after a refusal. */
const firstWaitMs = 30;
/** A stated wait is certainly over this long after its end. */
const afterWaitMs = 25;
/** A wait in whole seconds is certainly not over this long before its end. */
const beforeWaitMs = 1_040;
/** A refusal has moved the stated time if it is later by more: less may come from rounding. */
const movedMs = 2_000;
/** A longer wait than this is nearly exact, although it is in whole seconds. */
const longWaitMs = 10_000;
/** After this many of the longest windows, any window is over. */
const surelyLonger = 1.05;
/** Parts of the stated wait, in turn: pauses of one length could each be two windows of a counter. */
const waitShares = [0.4, 0.29];
/** The rest of a limit is spent this share of a window after the first part. */
const restShare = 0.45;
/** A silence after a burst ends at this share of a window. */
const silenceShare = 0.75;
/** Pauses, in windows, in which a part of a limit comes back. */
const gradualShares = [0.12, 0.25];
/** How long single requests show how often one passes: the longer of a time and some windows. */
const singlyMs = 9_000;
const singlyWindows = 3;
/** Each burst after a pause begins this share of a window later, so no place repeats. */
export const goldenShare = 0.382;
/** Single requests end after this many refusals at times when one should pass. */
const mostLate = 3;
/** Two times are as good as the same up to this quotient. */
const nearlySame = 1.02;
/** The number of requests, spread over a window, that look for its end. */
const waitsInWindow = 40;
/** Evenly spaced requests go on for this many windows, as a window may be longer than expected. */
const evenWindows = 1.3;
/** After that, each wait is this many times as long as the previous one. */
const longerWait = 1.4;

export class Recovery {
  /**
   * The time since a burst began until the last refusal, and until the first pass after it; or,
   * after `askSingly`, the longest wait that was refused and the shortest one that passed.
   */
  span: Span = [0, 0];
  readonly #run: Run;
  readonly #subject: Subject;
  readonly #evidence: Evidence;
  readonly #allowance: Allowance;
  /** True if a refusal has moved the time at which a request passes. */
  #isMoved = false;
  /** True after `#waitOut`, which is tried once. */
  #hasWaitedOut = false;
  /** True if a request passed when a refusal had said so. */
  #isWaitKept = false;

  constructor(run: Run, subject: Subject, evidence: Evidence, allowance: Allowance) {
    this.#run = run;
    this.#subject = subject;
    this.#evidence = evidence;
    this.#allowance = allowance;
  }

  async ask(): Promise<AuditedExchange> {
    const exchange = await this.#run.ask(this.#subject);
    if (exchange.outcome !== 'broken') this.#evidence.add(exchange);
    return exchange;
  }

  /** Sends single requests at these times. False if one is refused. */
  async askAt(times: readonly number[]): Promise<boolean> {
    for (const time of times) {
      await this.#run.until(time);
      if ((await this.ask()).outcome === 'refused') return false;
    }
    return true;
  }

  /**
   * Sends until `refusals` in a row, until `most` requests without a refusal, or until `mostMixed`
   * after the first one.
   */
  async exhaust(most: number, refusals: number): Promise<Burst> {
    let [inARow, mixed, passed] = [0, 0, 0];
    for (let asked = 0; asked < most || mixed > 0; asked += 1) {
      const { outcome } = await this.ask();
      inARow = outcome === 'refused' ? inARow + 1 : 0;
      if (outcome === 'passed') passed += 1;
      if (outcome === 'refused' || mixed > 0) mixed += 1;
      if (inARow >= refusals || mixed >= mostMixed) return { passed, isRefused: true };
    }
    return { passed, isRefused: false };
  }

  /**
   * Asks until a request passes: at these times after `begin`, and when a refusal said that one
   * passes. False if no request passes.
   */
  async recover(begin: number, waits: Iterable<number>): Promise<boolean> {
    let [refusedAt, stated] = [this.#run.now(), 0];
    const firstReadyAt = this.#readyAt() ?? Number.POSITIVE_INFINITY;
    for (const waitMs of waits) {
      if (waitMs > this.#evidence.longestMs * surelyLonger) return false;
      if (this.#isMoved && !this.#hasWaitedOut && (await this.#waitOut(begin))) return true;
      const planned = begin + waitMs;
      for (let isStated = true; isStated; ) {
        const said = this.#statedTime(firstReadyAt, stated, planned);
        isStated = said !== undefined;
        const at = said ?? planned;
        if (at < this.#run.now()) break;
        if (isStated) stated += 1;
        await this.#run.until(at);
        if ((await this.ask()).outcome === 'passed') {
          // A wait in whole seconds is exact for a long window alone.
          this.#isWaitKept ||= isStated && waitMs > longWaitMs;
          this.span = [refusedAt - begin, this.#run.now() - begin];
          return true;
        }
        refusedAt = this.#run.now();
      }
    }
    return false;
  }

  /**
   * Asks from time to time until the window that began at `begin` is over, and then whether more
   * comes back than `part`, which was spent at its start.
   */
  async watchReturn(begin: number, windowMs: number, part: number): Promise<void> {
    this.#run.doing('when the window is over');
    const readyAt = this.#readyAt();
    if (this.#isMoved && readyAt !== undefined) {
      // If each refusal prolongs the wait, only a pause ends it.
      await this.#run.until(readyAt + afterWaitMs);
      await this.exhaust(this.#allowance.mostInBurst, 1);
      return;
    }
    if (!(await this.recover(begin, this.#waitsOver(begin, windowMs)))) return;
    await this.exhaust(part + 2, 1);
    // If a request passed early, the limit may come back bit by bit.
    for (const share of this.#run.now() < begin + windowMs / 2 ? gradualShares : []) {
      await this.#run.until(this.#run.now() + share * windowMs);
      await this.exhaust(Math.min(this.#allowance.mostInBurst, this.#allowance.requests), 1);
    }
  }

  /**
   * Spends a part, then the rest half a window later: what then comes back differs from one limiter
   * to another. False if the part does not pass.
   */
  async spendInParts(limit: number, lengthMs: number): Promise<boolean> {
    this.#run.doing('the limit in two parts');
    const begin = this.#run.now();
    const [, high] = this.span;
    // In a sliding log, the requests of the first burst come back as far apart as they were sent.
    if (lengthMs < high / 4) await this.#run.until(begin + lengthMs);
    for (let passed = 1; passed < limit / 3; passed += 1)
      if ((await this.ask()).outcome === 'refused') return false;
    await this.#run.until(begin + restShare * high);
    await this.exhaust(limit * 2 + 2, firmRefusals - 1);
    return true;
  }

  /**
   * A burst, and one request late in its window. Beside slow replies, requests that follow each
   * other at once also fit windows as short as a few of them, if those of other callers count. A
   * refusal after a silence excludes such windows.
   */
  async askAfterSilence(windowMs: number): Promise<void> {
    this.#run.doing('a request after a silence');
    const begin = this.#run.now();
    await this.exhaust(this.#allowance.mostInBurst, 1);
    await this.#run.until(begin + silenceShare * windowMs);
    await this.ask();
  }

  /**
   * For a limit of one request: asks just after the next one may pass, then between the longest wait
   * that was refused and the shortest that passed, then earlier. A pass after a refusal shows that
   * refusals do not block; early refusals show that no window of a clock has begun meanwhile.
   */
  async askSingly(): Promise<void> {
    this.#run.doing('how often one request passes');
    let [low, high] = this.span;
    let last = this.#run.exchanges.at(-1);
    const end = this.#run.now() + Math.max(singlyWindows * high, singlyMs);
    let [step, wasRefused, late] = [0, false, 0];
    while (last !== undefined && late < mostLate && this.#run.now() + high < end) {
      const earlyMs = high * (0.5 + ((step * goldenShare) % 0.45));
      const between = low + (high - low) * ((step * goldenShare) % 1);
      const waits = [high * nearlySame, between, earlyMs, between];
      const waitMs = wasRefused ? high * nearlySame : (waits[step % waits.length] ?? high);
      step += wasRefused ? 0 : 1;
      await this.#run.until(last.answeredAtMs + waitMs);
      const asked = await this.ask();
      if (asked.outcome === 'passed') {
        high = Math.min(high, asked.answeredAtMs - last.sentAtMs);
        [last, wasRefused, late] = [asked, false, 0];
      } else if (wasRefused) {
        // It passed late, or each refusal prolongs the wait.
        [last, late] = [asked, late + 1];
      } else {
        low = Math.max(low, asked.sentAtMs - last.answeredAtMs);
        wasRefused = true;
      }
    }
    this.span = [low, high];
  }

  /** A bucket of tokens, or a counter that slides, gives back as many as a pause was long. */
  async takeBitByBit(limit: number): Promise<void> {
    this.#run.doing('how many come back in a pause');
    const begin = this.#run.now();
    if (!(await this.recover(begin, doublingWaits()))) return;
    const [, gapMs] = this.span;
    const { longestMs } = this.#evidence;
    let sum = 0;
    for (let waitMs = 2 * gapMs; sum < limit / 4 && waitMs < longestMs; waitMs *= 2) {
      await this.#run.until(this.#run.now() + waitMs);
      sum += (await this.exhaust(limit + 2, 1)).passed;
    }
  }

  /**
   * For limiters whose refusals prolong the wait: asks until any other window would be over, then
   * waits as long as the last refusal said.
   */
  async #waitOut(begin: number): Promise<boolean> {
    this.#hasWaitedOut = true;
    const stated = (this.#readyAt() ?? this.#run.now()) - this.#run.now();
    const until =
      begin + Math.min(this.#evidence.longestMs * nearlySame, mostWaitsInWindow * stated);
    for (let step = 0; ; step += 1) {
      const now = this.#run.now();
      const readyAt = this.#readyAt();
      if (readyAt === undefined) return false;
      const isOver = now >= until;
      const pauseMs = (readyAt - now) * (waitShares[step % 2] ?? 1);
      await this.#run.until(isOver ? readyAt + afterWaitMs : Math.min(now + pauseMs, until));
      if ((await this.ask()).outcome === 'passed') {
        this.span = [now - begin, this.#run.now() - begin];
        return true;
      }
      if (isOver) return false;
    }
  }

  /** Waits that are evenly spaced over a window, closer at first, and longer after its end. */
  *#waitsOver(begin: number, windowMs: number): Generator<number> {
    const from = this.#run.now() - begin;
    for (let waitMs = from; ; ) {
      const evenly = Math.min(firstWaitMs + (waitMs - from) / 4, windowMs / waitsInWindow);
      waitMs += waitMs < evenWindows * windowMs ? evenly : waitMs * (longerWait - 1);
      yield waitMs;
    }
  }

  /** When a request passes again, as the last reply said. */
  #readyAt(): number | undefined {
    const last = this.#run.exchanges.at(-1);
    const waitMs = ((last && waitOf(last)) ?? Number.NaN) * 1_000;
    return last && waitMs <= this.#evidence.longestMs ? last.answeredAtMs + waitMs : undefined;
  }

  /**
   * The next stated time to ask at: first a second before the stated wait is over, then right after
   * it. Undefined if the planned time comes first. `stated`: how many were asked at before.
   */
  #statedTime(firstReadyAt: number, stated: number, planned: number): number | undefined {
    const readyAt = this.#readyAt();
    if (readyAt === undefined || stated >= mostStated) return undefined;
    const [early, late] = [readyAt - beforeWaitMs, readyAt + afterWaitMs];
    this.#isMoved ||= readyAt > firstReadyAt + movedMs;
    const now = this.#run.now();
    const time = stated === 0 && !this.#isMoved && now < early ? early : late;
    // If each refusal prolongs the wait, only a pause ends it.
    const needsPause = this.#isWaitKept || now > firstReadyAt;
    return now < time && (time <= planned || needsPause) ? time : undefined;
  }
}

/** Waits, each twice as long as the one before. */
export function* doublingWaits(): Generator<number> {
  for (let waitMs = firstWaitMs; ; waitMs *= 2) yield waitMs;
}
