/**
 * What an audit asks, in which order. First a burst until the limit, then the time of the first
 * recovery, then a burst in two halves, which tells most limiters apart; after that the single
 * request that separates most of what remains.
 */
import type { Candidate } from '#judging/limiter/space/space.ts';
import type { Evidence } from './evidence.ts';
import type { Exchange, Subject } from './exchange.ts';
import { waitOf } from './fields.ts';
import { type Run, Stopped } from './run.ts';

export interface Plan {
  readonly subject: Subject;
  /** Other callers, and other paths of the first caller. */
  readonly others: readonly Subject[];
  readonly longestMs: number;
}

/** Which other subjects share the limit of the first one, and what showed it. */
export interface KeyTest {
  readonly subject: Subject;
  readonly isShared: boolean;
  readonly exchanges: readonly number[];
  /** So many decisions came before. */
  readonly at: number;
}

export interface Race {
  readonly sent: readonly Exchange[];
  /** The requests that would have passed one by one. */
  readonly most: number;
  readonly passed: number;
}

/** So many refusals in a row show that a limit is reached, and not only one of several counters. */
const firmRefusals = 4;
/** Refusals may be mixed with passes where tokens come back quickly. */
const mostMixed = 16;
/** More requests at once would need more connections than a process may open. */
const mostAtOnce = 50;

export class Audit {
  readonly keyTests: KeyTest[] = [];
  readonly races: Race[] = [];
  readonly #run: Run;
  readonly #plan: Plan;
  readonly #evidence: Evidence;

  constructor(run: Run, plan: Plan, evidence: Evidence) {
    this.#run = run;
    this.#plan = plan;
    this.#evidence = evidence;
  }

  async learn(): Promise<void> {
    // One request by hand before the audit would make its first burst one too short.
    this.#run.doing('a window in which what came before is forgotten');
    await this.#run.until(this.#plan.longestMs);
    this.#run.doing('a burst until the limit');
    const first = await this.#ask();
    if (first.outcome === 'refused') this.#evidence.useUnknownPast();
    if (!(await this.#exhaust(this.#mostInBurst, firmRefusals))) return;
    await this.#testKeys();
    await this.#recover();
    for (const share of [1 / 3, 1 / 2, 1 / 5, 2 / 3]) {
      if (!this.#isOpen()) break;
      await this.#quiet(share);
      await this.#twoHalves(share);
      await this.#separate();
      if (!this.#isOpen()) break;
      await this.#exhaust(this.#evidence.limit[1] + 2, 1);
      await this.#separate();
      await this.#countTokens();
    }
    await this.#raceNow();
    await this.#watchForLongerLimit();
  }

  /** A limit of N needs about 4 N requests. */
  get #mostInBurst(): number {
    return Math.max(1, Math.floor((this.#run.settings.budget - 60) / 4)) + 1;
  }

  async #ask(): Promise<Exchange> {
    const exchange = await this.#run.ask(this.#plan.subject);
    if (exchange.outcome !== 'broken') this.#evidence.add(exchange);
    return exchange;
  }

  /** Asks until so many refusals in a row. False if no refusal came. */
  async #exhaust(most: number, refusals: number): Promise<boolean> {
    let inARow = 0;
    let mixed = 0;
    for (let asked = 0; asked < most || mixed > 0; asked += 1) {
      const { outcome } = await this.#ask();
      inARow = outcome === 'refused' ? inARow + 1 : 0;
      if (outcome === 'refused' || mixed > 0) mixed += 1;
      if (inARow >= refusals || mixed >= mostMixed) return true;
    }
    return false;
  }

  /** While the first caller is refused: which others are refused, too? */
  async #testKeys(): Promise<void> {
    this.#run.doing('who shares the limit');
    for (const subject of this.#plan.others) {
      const at = this.#evidence.decisions.length;
      const first = await this.#run.ask(subject);
      if (first.outcome === 'broken') continue;
      const isShared = first.outcome === 'refused';
      const numbers = [first.number];
      if (isShared) this.#evidence.add(first);
      else numbers.push((await this.#run.ask(subject)).number);
      const again = await this.#ask();
      numbers.push(again.number);
      this.keyTests.push({ subject, isShared, exchanges: numbers, at });
    }
  }

  /** Finds when the first request passes again, and whether that is when the limiter said. */
  async #recover(): Promise<void> {
    this.#run.doing('when the first request passes again');
    const begin = this.#run.now();
    let waitMs = 30;
    for (;;) {
      const last = this.#run.exchanges.at(-1);
      const stated = last === undefined ? undefined : waitOf(last);
      const isStated = stated !== undefined && stated * 1_000 <= this.#plan.longestMs;
      const readyAt =
        isStated && last !== undefined ? last.answeredAtMs + stated * 1_000 : undefined;
      let next = begin + waitMs;
      if (readyAt !== undefined) next = this.#beforeOrAt(readyAt, next);
      if (next > begin + this.#plan.longestMs * 1.05) return;
      await this.#run.until(next);
      const { outcome } = await this.#ask();
      if (outcome === 'passed') break;
      waitMs *= readyAt === undefined ? 2 : 6;
      while (begin + waitMs <= this.#run.now()) waitMs *= 2;
    }
    for (let i = 0; i < 2; i += 1) if ((await this.#ask()).outcome !== 'passed') return;
  }

  /** The time of the plan, but a second before and right after the stated wait are asked. */
  #beforeOrAt(readyAt: number, next: number): number {
    const [early, late] = [readyAt - 1_000 - 40, readyAt + 25];
    if (next < early) return next;
    return this.#run.now() < early ? early : late;
  }

  /**
   * Waits until what was spent has come back, and some time more: at another place of a clock's
   * windows, these differ from a window that the first request opens.
   */
  async #quiet(share: number): Promise<void> {
    const [shortest, longest] = this.#likelyWindow();
    this.#run.doing('a pause, until all has come back');
    await this.#run.until(this.#run.now() + longest * 1.02 + 20 + shortest * share);
  }

  /** Spends a part, then the rest half a window later, and asks when the window is over. */
  async #twoHalves(share: number): Promise<void> {
    const { candidates } = this.#evidence;
    const limit = Math.max(1, ...candidates.map(({ version }) => version.limit[1]));
    const [shortest, longest] = this.#likelyWindow();
    this.#run.doing('a burst in two halves');
    const begin = this.#run.now();
    const part = Math.max(1, Math.ceil(limit * share));
    for (let i = 0; i < part; i += 1) if ((await this.#ask()).outcome === 'refused') break;
    await this.#run.until(begin + Math.sqrt(shortest * longest) * (0.2 + share));
    await this.#exhaust(limit * 2 + 2, firmRefusals - 1);
    const steps = longest / shortest < 1.05 ? 1 : 10;
    this.#run.doing('when the window is over');
    await this.#askIfEarlier(begin + shortest * 0.97);
    for (let step = 1; step <= steps; step += 1) {
      const at = begin + shortest + ((longest - shortest) * step) / steps + 10;
      if (await this.#askIfEarlier(at)) break;
    }
    for (let i = 0; i <= part; i += 1) if ((await this.#ask()).outcome === 'refused') return;
  }

  /** A bucket of tokens gives back as many as the pause was long; others do not. */
  async #countTokens(): Promise<void> {
    const algorithms = new Set(this.#evidence.candidates.map(({ family }) => family.algorithm));
    if (!algorithms.has('token_bucket') || !this.#isOpen()) return;
    this.#run.doing('how many come back in a pause');
    const [limit] = [this.#evidence.limit[1]];
    await this.#exhaust(limit + 2, 1);
    for (const share of [0.5, 0.3, 0.7]) {
      if (!this.#isOpen()) return;
      await this.#run.until(this.#run.now() + this.#likelyWindow()[1] * share);
      await this.#exhaust(limit + 2, 1);
    }
  }

  /** True if a request at this time, which is not over yet, passed. */
  async #askIfEarlier(atMs: number): Promise<boolean> {
    if (atMs < this.#run.now()) return false;
    await this.#run.until(atMs);
    return (await this.#ask()).outcome === 'passed';
  }

  /** The windows of the family that permits the fewest: others are cut by the next requests. */
  #likelyWindow(): readonly [number, number] {
    const byFamily = new Map<string, [number, number]>();
    for (const { family, version } of this.#evidence.candidates) {
      const [least, most] = byFamily.get(family.name) ?? version.windowMs;
      const { windowMs } = version;
      byFamily.set(family.name, [Math.min(least, windowMs[0]), Math.max(most, windowMs[1])]);
    }
    const narrow = [...byFamily.values()].sort((a, b) => a[1] / a[0] - b[1] / b[0]);
    const [first = [1_000, this.#plan.longestMs]] = narrow;
    return first;
  }

  /** Asks single requests, each when it separates most of the versions that remain. */
  async #separate(): Promise<void> {
    for (let asked = 0; asked < 24 && this.#isOpen(); asked += 1) {
      const at = this.#bestTime();
      if (at === undefined) return;
      this.#run.doing('the request that separates most of what remains');
      await this.#run.until(at);
      await this.#ask();
    }
  }

  /** True while the versions that remain disagree about something that is asked. */
  #isOpen(): boolean {
    const { candidates } = this.#evidence;
    if (candidates.length === 0) return false;
    const kinds = new Set(
      candidates.map(({ family, version }) =>
        [family.algorithm, family.refusals, ...version.limit].join(),
      ),
    );
    const [least, most] = this.#evidence.windowMs;
    return kinds.size > 1 || most / least > 1.05;
  }

  /**
   * The first time at which a request separates nearly as much as at any: a refusal costs nothing,
   * but a request that passes ends what earlier ones could have shown.
   */
  #bestTime(): number | undefined {
    const { candidates } = this.#evidence;
    const step = Math.ceil(candidates.length / 50);
    const sample = candidates.filter((_, i) => i % step === 0);
    const weights = weightsOf(sample);
    const now = this.#run.now() + this.#run.settings.paceMs;
    const horizon = Math.min(this.#evidence.windowMs[1] * 1.3, this.#plan.longestMs);
    const times = Array.from({ length: 120 }, (_, i) => {
      const at = now + (horizon * i) / 119;
      const outcomes = this.#evidence.outcomesAt(at, sample);
      const share = (kind: 'pass' | 'refuse') =>
        outcomes.reduce((sum, each, j) => sum + (each === kind ? (weights[j] ?? 0) : 0), 0);
      return { at, score: Math.min(share('pass'), share('refuse')) };
    });
    const best = Math.max(...times.map(({ score }) => score));
    if (best < 0.02) return undefined;
    return times.find(({ score }) => score >= best * 0.4)?.at;
  }

  /** Asks more at once than may pass, of another caller if its limit is its own. */
  async #raceNow(): Promise<void> {
    const { candidates } = this.#evidence;
    const [limit, most] = this.#evidence.limit;
    if (limit !== most) return;
    this.#run.doing('more at once than may pass');
    await this.#quiet(0);
    const subject = this.#plan.subject;
    const atOnce = Math.min(limit, mostAtOnce - 20);
    const begin = this.#run.now();
    for (let i = atOnce; i < limit; i += 1) await this.#run.ask(subject);
    const sent = await this.#run.race(subject, atOnce + 20);
    const tokens = candidates.map(({ family, version }) =>
      family.algorithm === 'token_bucket'
        ? ((this.#run.now() - begin) * limit) / version.windowMs[0]
        : 0,
    );
    const inTurn = atOnce + Math.ceil(Math.max(0, ...tokens));
    const passed = sent.filter(({ outcome }) => outcome === 'passed').length;
    this.races.push({ sent, most: inTurn, passed });
  }

  /** A limit over a longer time shows only after more requests than one short window takes. */
  async #watchForLongerLimit(): Promise<void> {
    const [, longest] = this.#evidence.windowMs;
    const [, limit] = this.#evidence.limit;
    if (this.#evidence.candidates.length === 0 || longest > 5_000) return;
    this.#run.doing('a second limit over a longer time');
    await this.#quiet(0);
    const spare = () => this.#run.settings.budget - this.#run.requests - 10;
    while (this.#run.now() < 18_000 && spare() > limit && this.#evidence.candidates.length > 0) {
      for (let i = 0; i <= limit; i += 1) await this.#ask();
      await this.#run.until(this.#run.now() + longest * 1.02 + 10);
    }
  }
}

/** Each family and limit counts the same, however many spans it has. */
function weightsOf(candidates: readonly Candidate[]): readonly number[] {
  const counts = new Map<string, number>();
  const nameOf = ({ family, version }: Candidate) =>
    [family.name, family.refusals, ...version.limit].join();
  for (const each of candidates) counts.set(nameOf(each), (counts.get(nameOf(each)) ?? 0) + 1);
  return candidates.map((each) => 1 / counts.size / (counts.get(nameOf(each)) ?? 1));
}

export { Stopped };
