/**
 * Requests of the first caller, one after the other: bursts until the limit, and the time until a
 * request passes again.
 */
import type { Span } from '#judging/limiter/space/decision.ts';
import type { Allowance } from './allowance.ts';
import type { Evidence } from './evidence.ts';
import { waitOf } from './fields.ts';
import { surelyOver } from './remaining.ts';
import type { AuditedExchange, Run, Subject } from './run.ts';

/** A search for the time at which a request passes again after a burst. */
interface PassSearch {
  readonly begin: number;
  refusedAt: number;
  /** When a request passes again, as the first refusal said. */
  readonly firstReadyAt: number;
  /** How many requests were sent at a stated time. */
  statedTimes: number;
}

/** This many refusals in a row end a burst. Fewer can come from one of several counters. */
export const firmRefusals = 4;
/** A burst ends this many requests after its first refusal, even if some of them pass. */
const mostAfterRefusal = 16;
/** The most stated waits to try: one that is too short would be tried again and again. */
const mostStated = 4;
/** Windows that are longer than this many stated waits are not looked for. */
const mostWaitsInWindow = 4;

const firstWaitMs = 30;
/** A stated wait is certainly over this long after its end. */
const afterWaitMs = 25;
/** A wait in whole seconds is certainly not over this long before its end. */
const beforeWaitMs = 1_040;
/** A refusal has moved the stated time if it is later by more: less may come from rounding. */
const movedMs = 2_000;
/** A longer wait than this is nearly exact, although it is in whole seconds. */
const longWaitMs = 10_000;
/** Parts of the stated wait, in turn: pauses of one length could each be two windows of a counter. */
const waitShares = [0.4, 0.29];
/** Pauses, in windows, in which a part of a limit comes back. */
const gradualShares = [0.12, 0.25];
/** After this many times its expected length, a wait is over, and only just. */
export const justOver = 1.02;
/** The number of requests, spread over a window, that look for its end. */
export const waitsInWindow = 20;
/** In a short window, in which requests cost little time. */
export const waitsInShortWindow = 40;
/** Evenly spaced requests go on for this many windows, as a window may be longer than expected. */
const evenWindows = 1.3;
/** After that, each wait is this many times as long as the previous one. */
const longerWait = 1.15;

export class Recovery {
  /**
   * The time since a burst began until the last refusal, and until the first pass after it. For a
   * limit of one, `askSingly` makes it the longest wait refused and the shortest that passed.
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

  /** Sends one request. Its answer becomes evidence. */
  async ask(): Promise<AuditedExchange> {
    const exchange = await this.#run.ask(this.#subject);
    if (exchange.outcome !== 'broken') this.#evidence.add(exchange);
    return exchange;
  }

  /** Asks when the last refusal said that a request passes; not at all if it said nothing. */
  async askWhenStated(): Promise<void> {
    const readyAt = this.#readyAt();
    if (readyAt !== undefined) await this.askAt([readyAt + afterWaitMs]);
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
   * Sends until `refusals` in a row, until `most` requests without a refusal, or until
   * `mostAfterRefusal` after the first one.
   */
  async sendUntilRefused({ most, refusals }: Readonly<Record<'most' | 'refusals', number>>) {
    let [inARow, sinceRefusal, passed] = [0, 0, 0];
    for (let asked = 0; asked < most || sinceRefusal > 0; asked += 1) {
      const { outcome } = await this.ask();
      inARow = outcome === 'refused' ? inARow + 1 : 0;
      if (outcome === 'passed') passed += 1;
      if (outcome === 'refused' || sinceRefusal > 0) sinceRefusal += 1;
      if (inARow >= refusals || sinceRefusal >= mostAfterRefusal)
        return { passed, isRefused: true };
    }
    return { passed, isRefused: false };
  }

  /**
   * Asks until a request passes: at these times after `begin`, and when a refusal said that one
   * passes. False if no request passes.
   */
  async recover(begin: number, waits: Iterable<number>): Promise<boolean> {
    const firstReadyAt = this.#readyAt() ?? Number.POSITIVE_INFINITY;
    const search = { begin, refusedAt: this.#run.now(), firstReadyAt, statedTimes: 0 };
    for (const waitMs of waits) {
      if (waitMs > this.#evidence.longestMs * surelyOver) return false;
      if (this.#isMoved && !this.#hasWaitedOut && (await this.#waitOut(begin))) return true;
      if (await this.#askStated(search, waitMs)) return true;
      const planned = begin + waitMs;
      if (planned >= this.#run.now() && (await this.#askOnce(planned, search))) return true;
    }
    return false;
  }

  /** Asks at the times that refusals state, up to the planned one. True if a request passes. */
  async #askStated(search: PassSearch, waitMs: number): Promise<boolean> {
    while (search.statedTimes < mostStated) {
      const readyAt = this.#readyAt();
      if (readyAt === undefined) return false;
      this.#isMoved ||= readyAt > search.firstReadyAt + movedMs;
      const at = this.#statedTime(readyAt, search, search.begin + waitMs);
      if (at === undefined) return false;
      search.statedTimes += 1;
      if (await this.#askOnce(at, search)) {
        // A wait in whole seconds is exact for a long window alone.
        this.#isWaitKept ||= waitMs > longWaitMs;
        return true;
      }
    }
    return false;
  }

  /** True if the request passes. */
  async #askOnce(time: number, search: PassSearch): Promise<boolean> {
    await this.#run.until(time);
    const passes = (await this.ask()).outcome === 'passed';
    const now = this.#run.now();
    if (passes) this.span = [search.refusedAt - search.begin, now - search.begin];
    else search.refusedAt = now;
    return passes;
  }

  /**
   * Asks from time to time until the window that began at `begin` is over, and then whether more
   * comes back than a part of the limit. `partAfter`: that part, after so many milliseconds.
   */
  async watchReturn(begin: number, windowMs: number, partAfter: (ms: number) => number) {
    this.#run.doing('when the window is over');
    const watchedSince = this.#run.now();
    const readyAt = this.#readyAt();
    if (this.#isMoved && readyAt !== undefined) {
      // If each refusal prolongs the wait, only a pause ends it.
      await this.#run.until(readyAt + afterWaitMs);
      await this.sendUntilRefused({ most: this.#allowance.mostInBurst, refusals: 1 });
      return;
    }
    if (!(await this.recover(begin, this.#waitsOver(begin, windowMs)))) return;
    const part = Math.ceil(partAfter(this.#run.now() - watchedSince));
    await this.sendUntilRefused({ most: part + 1, refusals: 1 });
    // If a request passed early, the limit may come back bit by bit.
    for (const share of this.#run.now() < begin + windowMs / 2 ? gradualShares : []) {
      await this.#run.until(this.#run.now() + share * windowMs);
      const most = Math.min(this.#allowance.mostInBurst, this.#allowance.requests);
      await this.sendUntilRefused({ most, refusals: 1 });
    }
  }

  /**
   * For limiters whose refusals prolong the wait: asks until any other window would be over, then
   * waits as long as the last refusal said.
   */
  async #waitOut(begin: number): Promise<boolean> {
    this.#hasWaitedOut = true;
    const stated = (this.#readyAt() ?? this.#run.now()) - this.#run.now();
    const until = begin + Math.min(this.#evidence.longestMs * justOver, mostWaitsInWindow * stated);
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
    const count = this.#allowance.isShortWindow ? waitsInShortWindow : waitsInWindow;
    for (let waitMs = from; ; ) {
      const evenly = Math.min(firstWaitMs + (waitMs - from) / 4, windowMs / count);
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
   * it. Undefined if the planned time comes first.
   */
  #statedTime(readyAt: number, search: PassSearch, planned: number): number | undefined {
    const early = readyAt - beforeWaitMs;
    const late = readyAt + afterWaitMs;
    const now = this.#run.now();
    const isFirst = search.statedTimes === 0 && !this.#isMoved;
    const time = isFirst && now < early ? early : late;
    // If each refusal prolongs the wait, only a pause ends it.
    const needsPause = this.#isWaitKept || now > search.firstReadyAt;
    return now < time && (time <= planned || needsPause) ? time : undefined;
  }
}

/** Waits, each 1.5 times as long as the one before. */
export function* growingWaits(): Generator<number> {
  for (let waitMs = firstWaitMs; ; waitMs *= 1.5) yield waitMs;
}
