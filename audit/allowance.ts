/** What an audit may still spend: requests and time, by the limit and the window that remain. */
import type { Span } from '#judging/limiter/space/decision.ts';
import type { Evidence } from './evidence.ts';
import { isBlocking, isOpen, usualLimit, usualWindow } from './remaining.ts';
import type { Run } from './run.ts';

/** What a step takes. */
export interface Cost {
  readonly requests: number;
  readonly windows: number;
}

/** An audit ends after this many windows, or after `shortAuditMs` if that is later. */
const mostWindows = 5.7;
const shortAuditMs = 15_500;
/** The shortest audit if windows are short: ten more bursts show a limit ten times as high. */
const longAuditMs = 32_000;
/** The shortest audit while something that is asked is undetermined. */
const openAuditMs = 75_000;
/** The same if a refusal may block: each answer then costs a block besides a window. */
const openBlockedAuditMs = 150_000;
/** For each millisecond that an answer takes longer than `quickMs`, an audit takes this much more. */
const quickMs = 7;
const moreMsPerSlowMs = 2_000;
/** A small limit is learned in this many windows. */
const fewWindows = 14;
/** With a smaller limit than this, `shortAuditMs` also holds for short windows. */
const fewInAWindow = 8;
/** A window is short up to this length. */
const shortWindowMs = 5_000;
/** Further requests cost little time in windows up to this length. */
const cheapWindowMs = 20_000;
/** The fewest requests to allow for cheap windows: enough to show a limit of 100 behind another. */
const mostInShortWindows = 300;
/** The fewest requests to allow for cheap windows while something that is asked is undetermined. */
const mostWhileOpen = 450;
/** A limit of N takes at most `timesLimit` N + `besidesLimit` requests, fewer of them planned. */
const timesLimit = 4;
const besidesLimit = 60;
const plannedBesides = 40;
/** Fewer passes than this show nothing about how fast tokens return. */
const fewPasses = 3;
/** The longest window to plan for, as a multiple of the usual one. */
const usualSpan = 1.15;

/** The most requests that an audit sends to a limiter with this limit. */
export function requestsForLimit(limit: number): number {
  return timesLimit * limit + besidesLimit;
}

export class Allowance {
  /** The time between two recoveries, if all came back at once. */
  measuredMs: Span | undefined;
  /** When this audit began, or began again, and what it had sent before. */
  readonly begin: { readonly ms: number; readonly requests: number };
  readonly #run: Run;
  readonly #evidence: Evidence;

  constructor(run: Run, evidence: Evidence) {
    this.#run = run;
    this.begin = { ms: run.now(), requests: run.requests };
    this.#evidence = evidence;
  }

  /** The windows that remain, as far as a pause or a plan for the rest of the audit needs them. */
  get windowMs(): Span {
    const [least, most] = this.#evidence.windowMs;
    const measured = this.measuredMs?.[1] ?? Number.POSITIVE_INFINITY;
    const usual = Math.min(usualWindow(this.#evidence), measured, this.#refillMs);
    const likely = Math.min(most, usual * usualSpan);
    return [Math.min(least, likely), likely];
  }

  get isShortWindow(): boolean {
    return this.windowMs[1] <= shortWindowMs;
  }

  /** When the audit ends. */
  get endMs(): number {
    const [, windowMs] = this.windowMs;
    const isStillOpen = isOpen(this.#evidence);
    const isSmallLimit = usualLimit(this.#evidence) < fewInAWindow && !isStillOpen;
    const longMs = isStillOpen ? this.#openMs : longAuditMs;
    const answerMs = windowMs + this.blockedMs;
    const fewWindowsMs = Math.max(shortAuditMs, Math.min(longMs, fewWindows * answerMs));
    // Only short windows of a limit that is not small, or is open, take all of the longer time.
    const leastMs = this.isShortWindow && !isSmallLimit ? longMs : fewWindowsMs;
    const slowMs = isStillOpen ? this.#slowMs : 0;
    return this.begin.ms + Math.max(mostWindows * windowMs, leastMs + slowMs);
  }

  /** The shortest audit while something is open. */
  get #openMs(): number {
    return this.mayBlock ? openBlockedAuditMs : openAuditMs;
  }

  /** True if a limiter whose refusals begin a block is among those that remain. */
  get mayBlock(): boolean {
    return this.#evidence.candidates.some(isBlocking);
  }

  /** How long a refusal may block; 0 if that is not known, or if none does. */
  get blockedMs(): number {
    if (!this.mayBlock) return 0;
    const [, blockedMs] = this.#evidence.blockMs;
    return Number.isFinite(blockedMs) ? blockedMs : 0;
  }

  /** The latest time at which the audit may still confirm a certain answer. */
  get confirmedMs(): number {
    const [, windowMs] = this.#evidence.windowMs;
    const shortMs = Math.min(openAuditMs, fewWindows * windowMs);
    return Math.max(this.endMs, this.begin.ms + Math.max(mostWindows * windowMs, shortMs));
  }

  /** The most requests of one burst: so high a limit can still be learned with the budget. */
  get mostInBurst(): number {
    const { budget } = this.#run.settings;
    return Math.max(1, Math.floor((budget - besidesLimit) / timesLimit)) + 1;
  }

  /** How many requests may still be sent. */
  get requests(): number {
    return this.#requests(isOpen(this.#evidence));
  }

  /** True if a step that shows the algorithm is affordable: in short windows, before the audit ends. */
  affordsIfOpen({ requests, windows }: Cost): boolean {
    const endMs = this.begin.ms + this.#openMs + this.#slowMs;
    const isInTime = this.#run.now() + windows * this.windowMs[1] <= endMs;
    return this.isShortWindow && isInTime && requests <= this.#requests(true);
  }

  /** Over a short window, a few more requests cost no time. */
  #requests(isOpen: boolean): number {
    const isShort = this.windowMs[1] <= cheapWindowMs;
    const mostIfShort = isOpen ? mostWhileOpen : mostInShortWindows;
    const most = Math.max(
      timesLimit * usualLimit(this.#evidence) + plannedBesides,
      isShort ? mostIfShort : 0,
    );
    const { requests, settings } = this.#run;
    return Math.min(settings.budget, this.begin.requests + most) - requests;
  }

  /** True if the audit can still spend this many requests and windows. */
  affords({ requests, windows }: Cost): boolean {
    if (!this.#evidence.isKnown) return false;
    return requests <= this.requests && this.#run.now() + windows * this.windowMs[1] <= this.endMs;
  }

  /** More time for an audit whose answers take long, because each of them shows less. */
  get #slowMs(): number {
    const { recent } = this.#evidence;
    const sumMs = recent.reduce((sum, { from, to }) => sum + to - from, 0);
    return Math.min(openAuditMs, Math.max(0, sumMs / recent.length - quickMs) * moreMsPerSlowMs);
  }

  /** Longer than a whole limit takes to return, if its tokens return one by one. */
  get #refillMs(): number {
    const { recent } = this.#evidence;
    const first = recent.findIndex(({ passed }) => !passed);
    const later = recent.slice(first).filter(({ passed }) => passed);
    const lengthMs = (later.at(-1)?.to ?? 0) - (recent[first]?.from ?? 0);
    if (later.length < fewPasses) return this.#evidence.longestMs;
    return (2 * usualLimit(this.#evidence) * lengthMs) / later.length;
  }
}
