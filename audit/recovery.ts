/**
 * Requests of the first caller, one after the other: bursts until the limit, and the time until a
 * request passes again.
 */
import type { Span } from '#judging/limiter/space/decision.ts';
import type { Evidence } from './evidence.ts';
import { waitOf } from './fields.ts';
import type { AuditedExchange, Run, Subject } from './run.ts';

export interface Burst {
  readonly passed: number;
  readonly isRefused: boolean;
}

/** This many refusals in a row end a burst. Fewer can come from one of several counters. */
export const firmRefusals = 4;
/** Refusals may be mixed with passes where tokens come back quickly. */
const mostMixed = 16;
/** The most stated waits to try: one that is too short would be tried again and again. */
const mostStated = 4;
/** A limiter has no window that is longer than this many of its stated waits. */
const mostHeld = 4;

/** How long single requests show how often one passes: the longer of a time and some windows. */
const trickledMs = 9_000;
const trickledWindows = 3;
/** Each burst after a pause begins this share of a window later, so no place repeats. */
export const goldenShare = 0.382;
/** Single requests end after this many refusals at times when one should pass. */
const mostLate = 3;
/** Two times are as good as the same up to this quotient. */
const nearlySame = 1.02;
/** The number of requests, spread over a window, that look for its end. */
const sweeps = 40;
/** Evenly spaced requests go on for this many windows, as a window may be longer than expected. */
const sweptWindows = 1.3;
/** After that, each wait is this many times as long as the previous one. */
const longerWait = 1.4;

export class Recovery {
  /** The waits after which a request was still refused, and passed, since a burst began. */
  span: Span = [0, 0];
  readonly #run: Run;
  readonly #subject: Subject;
  readonly #evidence: Evidence;
  readonly #longestMs: number;
  /** True if a refusal has moved the time at which a request passes. */
  isMoved = false;
  #isHeld = false;
  /** True if a request passed when a refusal had said so. */
  #isWaitKept = false;

  constructor(run: Run, subject: Subject, evidence: Evidence, longestMs: number) {
    this.#run = run;
    this.#subject = subject;
    this.#evidence = evidence;
    this.#longestMs = longestMs;
  }

  async ask(): Promise<AuditedExchange> {
    const exchange = await this.#run.ask(this.#subject);
    if (exchange.outcome !== 'broken') this.#evidence.add(exchange);
    return exchange;
  }

  /** Sends until `refusals` in a row, or until `most` requests without a refusal. */
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

  /** Asks these times after `begin`, and when a refusal said that a request passes, until one does. */
  async recover(begin: number, waits: Iterable<number>): Promise<boolean> {
    let [refusedAt, stated] = [this.#run.now(), 0];
    const firstReadyAt = this.readyAt() ?? Number.POSITIVE_INFINITY;
    for (const waitMs of waits) {
      if (waitMs > this.#longestMs * 1.05) return false;
      if (this.isMoved && !this.#isHeld && (await this.#hold(begin))) return true;
      for (let isPlanned = false; !isPlanned; ) {
        const planned = begin + waitMs;
        const said = stated < mostStated ? this.#statedTime(firstReadyAt, stated) : undefined;
        isPlanned = said === undefined || said > planned;
        // If each refusal prolongs the wait, only a pause ends it.
        const isPause = said !== undefined && this.#run.now() > firstReadyAt;
        if (isPause || (said !== undefined && this.#isWaitKept)) isPlanned = false;
        const at = isPlanned || said === undefined ? planned : said;
        if (at < this.#run.now()) break;
        if (!isPlanned) stated += 1;
        await this.#run.until(at);
        const { outcome } = await this.ask();
        if (outcome === 'passed') {
          // A wait in whole seconds is exact for a long window alone.
          this.#isWaitKept ||= !isPlanned && waitMs > 10_000;
          this.span = [refusedAt - begin, this.#run.now() - begin];
          return true;
        }
        refusedAt = this.#run.now();
      }
    }
    return false;
  }

  /**
   * For limiters whose refusals prolong the wait: asks until any other window would be over, then
   * waits as long as the last refusal said.
   */
  async #hold(begin: number): Promise<boolean> {
    this.#isHeld = true;
    const stated = (this.readyAt() ?? this.#run.now()) - this.#run.now();
    const until = begin + Math.min(this.#longestMs * 1.02, mostHeld * stated);
    for (let step = 0; ; step += 1) {
      const now = this.#run.now();
      const readyAt = this.readyAt();
      if (readyAt === undefined) return false;
      const isOver = now >= until;
      // Pauses of one length could each be two windows of a counter.
      const pauseMs = (readyAt - now) * (step % 2 === 0 ? 0.4 : 0.29);
      await this.#run.until(isOver ? readyAt + 25 : Math.min(now + pauseMs, until));
      if ((await this.ask()).outcome === 'passed') {
        this.span = [now - begin, this.#run.now() - begin];
        return true;
      }
      if (isOver) return false;
    }
  }

  /** Waits that are evenly spaced over a window, closer at first, and longer after its end. */
  *sweep(begin: number, windowMs: number): Generator<number> {
    const from = this.#run.now() - begin;
    for (let waitMs = from; ; ) {
      const evenly = Math.min(30 + (waitMs - from) / 4, windowMs / sweeps);
      waitMs += waitMs < sweptWindows * windowMs ? evenly : waitMs * (longerWait - 1);
      yield waitMs;
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
    await this.#run.until(begin + 0.45 * high);
    await this.exhaust(limit * 2 + 2, firmRefusals - 1);
    return true;
  }

  /**
   * For a limit of one request: asks just after the next one may pass, then between the longest wait
   * that was refused and the shortest that passed, then earlier. A pass after a refusal shows that
   * refusals do not block; early refusals show that no window of a clock has begun meanwhile.
   */
  async trickle(): Promise<void> {
    this.#run.doing('how often one request passes');
    let [low, high] = this.span;
    let last = this.#run.exchanges.at(-1);
    const end = this.#run.now() + Math.max(trickledWindows * high, trickledMs);
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
    if (!(await this.recover(begin, doubling(30)))) return;
    const [, gapMs] = this.span;
    let sum = 0;
    for (let waitMs = 2 * gapMs; sum < limit / 4 && waitMs < this.#longestMs; waitMs *= 2) {
      await this.#run.until(this.#run.now() + waitMs);
      sum += (await this.exhaust(limit + 2, 1)).passed;
    }
  }

  /** When a request passes again, as the last reply said. */
  readyAt(): number | undefined {
    const last = this.#run.exchanges.at(-1);
    const stated = last === undefined ? undefined : waitOf(last);
    if (last === undefined || stated === undefined || Number.isNaN(stated)) return undefined;
    return stated * 1_000 > this.#longestMs ? undefined : last.answeredAtMs + stated * 1_000;
  }

  /** First a second before the stated wait is over, then right after it. */
  #statedTime(firstReadyAt: number, stated: number): number | undefined {
    const readyAt = this.readyAt();
    if (readyAt === undefined) return undefined;
    const [early, late] = [readyAt - 1_040, readyAt + 25];
    this.isMoved ||= readyAt > firstReadyAt + 2_000;
    if (stated === 0 && !this.isMoved && this.#run.now() < early) return early;
    return this.#run.now() < late ? late : undefined;
  }
}

/** Waits of twice the length before. */
export function* doubling(waitMs: number): Generator<number> {
  for (let wait = waitMs; ; wait *= 2) yield wait;
}
