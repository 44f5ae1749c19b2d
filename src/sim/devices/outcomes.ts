/**
 * The fate of a message: whether it is delivered, fails or stays in a status. Outcomes script it by
 * recipient, because the document does not say when a message fails. Rules: STATE-3 to STATE-5.
 * Assumes: failsFrom, failureRate.
 */

import type { Status } from '#contract/message-status.ts';
import { type Assumptions, type UnfinishedStatus, unfinishedStatuses } from '../assumptions.ts';
import type { Rng } from '../random.ts';

/** An outcome as world files and the control port write it. */
export interface Outcome {
  /** The recipients to which it applies; `*` stands for any digits. */
  readonly to: string;
  readonly ends: 'delivered' | 'failed' | 'stuck';
  /** The status in which it fails or stays; absent for `delivered`. */
  readonly in?: UnfinishedStatus | undefined;
  /** Polls that each step takes. */
  readonly polls?: number | undefined;
}

/** What one message will do; undefined means "delivered, one step a poll". */
export interface Fate {
  readonly ends: Outcome['ends'];
  readonly in: UnfinishedStatus | undefined;
  readonly polls: number;
}

/** One object for each status, so that a fate chosen at random is recognised by identity. */
const unpromptedFates = Object.fromEntries(
  unfinishedStatuses.map((status) => [status, { ends: 'failed', in: status, polls: 1 }]),
) as unknown as Readonly<Record<UnfinishedStatus, Fate>>;

/** The fate of a random failure in `status`. */
export function unpromptedFate(status: UnfinishedStatus): Fate {
  return unpromptedFates[status];
}

/** True for a fate chosen at random, false for a scripted one. */
export function isUnprompted(fate: Fate): boolean {
  return fate.in !== undefined && unpromptedFates[fate.in] === fate;
}

/** True if messages with these fates take the same steps. */
export function isSameFate(a: Fate | undefined, b: Fate | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || isUnprompted(a) || isUnprompted(b)) return false;
  return a.ends === b.ends && a.in === b.in && a.polls === b.polls;
}

/** True if the message failed, or if its fate ends before `delivered`. */
export function isUndelivered(message: Destined | undefined): boolean {
  if (message === undefined) return false;
  const { status, fate } = message;
  if (status === 'failed' || status === 'delivered') return status === 'failed';
  return fate !== undefined && fate.ends !== 'delivered';
}

/** The fields of a message that tell how it ends. */
interface Destined {
  readonly status: Status;
  readonly fate: Fate | undefined;
}

export class Outcomes {
  #outcomes: readonly Outcome[] = [];
  /** The fates of outcomes before the first with a pattern, by number. */
  #exact = new Map<string, Fate>();
  /** The other outcomes, in order. */
  #patterns: readonly { readonly matches: NumberTest; readonly fate: Fate }[] = [];

  constructor(outcomes: readonly Outcome[]) {
    this.replace(outcomes);
  }

  get list(): readonly Outcome[] {
    return this.#outcomes;
  }

  /** Replaces all outcomes. The first one whose `to` matches a recipient applies. */
  replace(outcomes: readonly Outcome[]): void {
    this.#outcomes = outcomes;
    this.#exact = new Map();
    const patterns: { matches: NumberTest; fate: Fate }[] = [];
    for (const outcome of outcomes) {
      const fate = { ends: outcome.ends, in: outcome.in, polls: outcome.polls ?? 1 };
      if (outcome.to.includes('*') || patterns.length > 0) {
        // After the first pattern, order matters, so later outcomes are also tried in order.
        patterns.push({ matches: numberTest(outcome.to), fate });
      } else if (!this.#exact.has(outcome.to)) {
        this.#exact.set(outcome.to, fate);
      }
    }
    this.#patterns = patterns;
  }

  /** The index of the outcome that applies to a recipient, or -1. */
  placeOf(to: string): number {
    return this.#outcomes.findIndex((outcome) => numberTest(outcome.to)(to));
  }

  /**
   * The fate of a message that is accepted now. `failsFrom` restricts scripted and random failures
   * alike.
   */
  fateOf(to: string, assumptions: Assumptions, rng: Rng): Fate | undefined {
    const scripted = this.#exact.get(to) ?? this.#matching(to);
    if (scripted !== undefined) {
      return scripted.ends === 'failed' && !mayFailFrom(scripted.in, assumptions)
        ? { ...scripted, ends: 'delivered', in: undefined }
        : scripted;
    }
    if (assumptions.failureRate === 0 || assumptions.failsFrom.length === 0) return undefined;
    const fails = rng.fraction() < assumptions.failureRate;
    const from = assumptions.failsFrom[rng.below(assumptions.failsFrom.length)];
    return fails && from !== undefined ? unpromptedFates[from] : undefined;
  }

  #matching(to: string): Fate | undefined {
    for (const { matches, fate } of this.#patterns) if (matches(to)) return fate;
    return undefined;
  }
}

function mayFailFrom(status: UnfinishedStatus | undefined, assumptions: Assumptions): boolean {
  return status !== undefined && assumptions.failsFrom.includes(status);
}

export type NumberTest = (number: string) => boolean;

const plainNumber = /^\+[0-9]*$/;

/**
 * Tests whether a number matches `pattern`; `*` stands for any digits. Takes time linear in the
 * number's length, because clients may send any text as a number.
 */
export function numberTest(pattern: string): NumberTest {
  const [first = '', ...others] = pattern.split(/\*+/);
  const last = others.pop();
  return (number) => {
    if (last === undefined) return number === first;
    if (!number.startsWith(first) || !plainNumber.test(number)) return false;
    let matched = first.length;
    for (const part of others) {
      const found = number.indexOf(part, matched);
      if (found < 0) return false;
      matched = found + part.length;
    }
    return number.length >= matched + last.length && number.endsWith(last);
  };
}
