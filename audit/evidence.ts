/**
 * What the requests of the first caller show, one after the other: the decisions, and the versions
 * of limiters that they permit. Requests of others that share its limit count, too.
 */
import type { Decision, Span } from '#judging/limiter/space/decision.ts';
import { type Candidate, isPossible, Space } from '#judging/limiter/space/space.ts';
import type { Exchange } from './exchange.ts';
import { decisionOf } from './run.ts';

export class Evidence {
  decisions: Decision[] = [];
  /** The exchange of each decision. */
  readonly numbers: number[] = [];
  /** True if the limit was in use before the audit, so that its first refusals say little. */
  isUsedBefore = false;
  readonly #longestMs: number;
  #space: Space;
  #seen = 0;

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#space = new Space(longestMs);
  }

  add(exchange: Exchange): void {
    this.decisions.push(decisionOf(exchange));
    this.numbers.push(exchange.number);
  }

  /** The versions that all decisions so far permit; blocks as long as nothing else is left. */
  get candidates(): readonly Candidate[] {
    if (this.#seen !== this.decisions.length) this.#update();
    const { candidates, areBlocksCut } = this.#space;
    return areBlocksCut
      ? candidates
      : candidates.filter(({ family }) => family.refusals !== 'block');
  }

  /** Looks into what was left out to save time: nothing more is asked. */
  settle(): void {
    this.#space.areBlocksCut = true;
    this.#update();
  }

  #update(): void {
    this.#seen = this.decisions.length;
    this.#space.update(this.decisions);
    const isRefused = this.decisions.some(({ passed }) => !passed);
    if (this.#space.candidates.length === 0 && isRefused && !this.isUsedBefore)
      this.useUnknownPast();
  }

  /** From here on, other requests may have spent before the first decision. */
  useUnknownPast(): void {
    this.isUsedBefore = true;
    this.#space = new Space(this.#longestMs, this.decisions[0]?.from ?? 0);
    this.#space.update(this.decisions);
  }

  /** The shortest and the longest window that a version permits. */
  get windowMs(): Span {
    return hull(this.candidates.map(({ version }) => version.windowMs));
  }

  /** The lowest and the highest limit that a version permits. */
  get limit(): Span {
    return hull(this.candidates.map(({ version }) => version.limit));
  }

  /** What would happen to a request at this time, by each version. */
  outcomesAt(
    atMs: number,
    candidates: readonly Candidate[],
  ): readonly ('pass' | 'refuse' | 'any')[] {
    const next = { from: atMs, to: atMs, count: 1 };
    const { judged } = this.#space;
    const passing = [...judged, { ...next, passed: true }];
    const refusing = [...judged, { ...next, passed: false }];
    return candidates.map((candidate) => {
      const [canPass, canRefuse] = [passing, refusing].map((each) =>
        isPossible(candidate, each, judged.length),
      );
      if (canPass && canRefuse) return 'any';
      return canPass ? 'pass' : 'refuse';
    });
  }
}

function hull(spans: readonly Span[]): Span {
  return [Math.min(...spans.map(([least]) => least)), Math.max(...spans.map(([, most]) => most))];
}
