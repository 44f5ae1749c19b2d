/**
 * A case is data: the rule or assumption it is about, what it needs, what it sends, what is
 * demanded, one `run`.
 */
import type { Spends } from './buckets.ts';
import type { Recording } from './recording.ts';
import type { AssumptionName, RuleId } from './rules.ts';
import type { Need } from './target.ts';
import type { Trial } from './trial.ts';

export interface Cost {
  /** Requests to send endpoints, at most. */
  readonly sends?: number;
  /** 429s that it provokes. */
  readonly throttled?: number;
  /** The longest single wait in seconds, where time cannot be moved. */
  readonly waits?: number;
}

/**
 * What differs where there are no levers: flags and real time alone. What it leaves out stays as it
 * is.
 */
export interface Live<Found> {
  readonly needs: readonly Need[];
  readonly cost?: Cost;
  readonly spends?: Spends;
  readonly judges?: readonly Recording[];
  readonly run?: (t: Trial) => Promise<Found>;
}

/** What a case is, whether it judges or observes. */
export interface Plan {
  /** Stable, kebab-case; with the rule in front it is the case's id. */
  readonly name: string;
  readonly needs: readonly Need[];
  readonly cost: Cost;
  /**
   * Requests to limited endpoints; without it, `cost.sends` to `send`. A 429 from these alone is
   * waited out.
   */
  readonly spends?: Spends;
  /** Recordings that it judges. */
  readonly judges?: readonly Recording[];
  /** What it does, as a sentence without its subject. */
  readonly sends: string;
}

/** A case that judges a rule. */
export interface Case extends Plan {
  readonly rule: RuleId;
  readonly demands: string;
  /** Moves time, or empties a bucket that others share: it runs alone. */
  readonly alone?: boolean;
  readonly live?: Live<void>;
  readonly run: (t: Trial) => Promise<void>;
}

/** What the target was seen to do where the document is silent. */
export type Seen =
  | {
      readonly answer: unknown;
      /** Of an answer in parts: what could not be told, by part. */
      readonly parts?: Readonly<Record<string, string>>;
    }
  /** It cannot be told from outside, and why. */
  | { readonly untold: string };

/** A case that observes an assumption. */
export interface Observation extends Plan {
  readonly assumption: AssumptionName;
  readonly alone?: boolean;
  readonly live?: Live<Seen>;
  readonly run: (t: Trial) => Promise<Seen>;
}

/** How a case opens: its id, as reports print it, what it needs and what it costs. */
export function about(
  id: `${RuleId}/${string}`,
  needs: readonly Need[],
  cost: Cost = {},
): Pick<Case, 'rule' | 'name' | 'needs' | 'cost'> {
  const [rule = '', name = ''] = id.split('/');
  return { rule: rule as RuleId, name, needs, cost };
}

export type AnyCase = Case | Observation;

export function idOf(one: AnyCase): string {
  return `${subjectOf(one)}/${one.name}`;
}

/** The rule id or assumption name that a case is about. */
export function subjectOf(one: AnyCase): string {
  return 'rule' in one ? one.rule : one.assumption;
}

/** The case as it runs with levers, or without them. */
export function variantOf(one: AnyCase, hasLevers: boolean): AnyCase {
  if (hasLevers || one.live === undefined) return one;
  return { ...one, cost: {}, ...one.live } as AnyCase;
}

/** What a case asks of limited endpoints. */
export function spendsOf({ spends, cost }: Plan): Spends {
  return spends ?? (cost.sends === undefined ? {} : { send: cost.sends });
}
