/**
 * A case is data: its rule or assumption, its needs and costs, what it sends, and steps that make
 * exchanges. The judges of its rules decide whether the rules hold. An observation makes requests
 * and says itself which answer to an assumption they show.
 */

import type { AssumptionName } from '#contract/assumptions.ts';
import type { RuleId } from '#contract/rules.ts';
import type { Spends } from '#judging/limiter/buckets.ts';
import type { Need } from '../target/target.ts';
import type { Subject, Trial } from './case-run.ts';
import type { Recording, Requirements } from './recording.ts';

/** The fields of every case, whether it judges or observes. */
interface Plan<S> extends Requirements {
  /** Stable: the subject, then a name in kebab-case. */
  readonly id: `${string}/${string}`;
  /** The rule or the assumption. */
  readonly subject: S;
  /** Recordings that this case judges. */
  readonly recordings?: readonly Recording[];
  /** True if it runs after all other cases, because it judges what they have recorded. */
  readonly isLast?: boolean;
  /** True if it moves time for a moment, although it needs no clock and waits for nothing. */
  readonly alone?: boolean;
  /** What it sends, as a phrase without a subject. */
  readonly sends: string;
}

/** A case that judges a rule. */
export interface Case extends Plan<RuleId> {
  /** What the replies must be, as a phrase. */
  readonly demands: string;
  /** Rules whose judges look at its exchanges too. */
  readonly also?: readonly RuleId[];
  /** Makes exchanges, which the judges of its rules look at. */
  readonly steps?: (t: Trial, account: Subject) => Promise<unknown>;
}

/** What an observation saw: the target's answer to an assumption. */
export type Seen =
  | {
      readonly answer: unknown;
      /** For an answer in parts: the parts that could not be determined, and why. */
      readonly parts?: Readonly<Record<string, string>>;
    }
  /** Cannot be determined from outside; the text says why. */
  | { readonly undetermined: string };

/** A case that observes an assumption. */
export interface Observation extends Plan<AssumptionName> {
  readonly run: (t: Trial, account: Subject) => Promise<Seen>;
}

export type AnyCase = Case | Observation;

/** The common start of a case: its id, needs and costs. */
export function about<S extends RuleId | AssumptionName>(
  id: `${S}/${string}`,
  needs: readonly Need[],
  spends: Spends = {},
  more: Pick<Requirements, 'throttled' | 'waits' | 'account'> = {},
) {
  return { id, subject: id.slice(0, id.indexOf('/')) as S, needs, spends, ...more };
}

/** True if it moves time, or empties a bucket that other cases share. */
export function runsAlone({ alone, needs, waits = 0, recordings = [] }: AnyCase): boolean {
  const isShared = recordings.some((one) => (one.waits ?? one.full) !== undefined);
  return alone === true || needs.includes('clock') || waits > 0 || isShared;
}
