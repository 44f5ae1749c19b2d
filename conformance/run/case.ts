/**
 * A case is data: its rule or assumption, its needs and costs, what it sends, and steps that make
 * exchanges. The judges of its rules decide whether the rules hold. An observation makes requests
 * and says itself which answer to an assumption they show.
 */
import type { AssumptionName } from '#contract/assumptions.ts';
import type { RuleId } from '#contract/rules.ts';
import type { Trace } from '#judging/service/judge.ts';
import type { Need } from '../target/target.ts';
import type { Recording, Requirements } from './recording.ts';
import type { AccountUnderTest, Trial } from './trial.ts';

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
  /** True if it moves time, which no case may beside others, without `clock` or `waitSeconds`. */
  readonly mustRunAlone?: boolean;
  /** Further needs that explain a lack: with their flags, the case is not silently skipped. */
  readonly mayUse?: readonly Need[];
  /** What it sends, as a phrase without a subject. */
  readonly sends: string;
}

/** What the exchanges of a case must show, or the case is not exercised. */
export interface RequiredEvidence {
  /** A noun, for the reason "no … was seen". */
  readonly what: string;
  readonly isIn: (trace: Trace) => boolean;
}

/** A reply with a status for which `isSuch` is true. */
export function replyEvidence(what: string, isSuch: (status: number) => boolean): RequiredEvidence {
  return { what, isIn: ({ exchanges }) => exchanges.some(({ reply }) => isSuch(reply.status)) };
}

/** A case that judges a rule. */
export interface Case extends Plan<RuleId> {
  /** What `demands` is about. Without it, the rule may be exercised, but not what this case tests. */
  readonly evidence?: RequiredEvidence;
  /** What the replies must be, as a phrase. */
  readonly demands: string;
  /** Rules whose judges look at its exchanges too. */
  readonly also?: readonly RuleId[];
  /** Makes exchanges, which the judges of its rules look at. */
  readonly steps?: (t: Trial, account: AccountUnderTest) => Promise<unknown>;
}

/** What an observation saw: the target's answer to an assumption. */
export type Seen =
  | {
      readonly answer: unknown;
      /** The parts of the answer that could not be determined, and why. */
      readonly parts?: Readonly<Record<string, string>>;
    }
  /** Cannot be determined from outside; the text says why. */
  | { readonly undetermined: string };

/** A case that observes an assumption. */
export interface Observation extends Plan<AssumptionName> {
  readonly run: (t: Trial, account: AccountUnderTest) => Promise<Seen>;
}

export type AnyCase = Case | Observation;

/** The fields that `about` derives from its arguments. */
type Derived = 'id' | 'subject' | 'needs' | 'spends';
type Rest<T extends AnyCase> = Omit<T, Derived> & Partial<Pick<T, 'spends'>>;

/**
 * A case with this id, which starts with its subject. `sendCount`: its requests to the send
 * endpoint; `spends` has those to other limited endpoints.
 */
export function about(
  id: `${RuleId}/${string}`,
  needs: readonly Need[],
  sendCount: number,
  rest: Rest<Case>,
): Case;
export function about(
  id: `${AssumptionName}/${string}`,
  needs: readonly Need[],
  sendCount: number,
  rest: Rest<Observation>,
): Observation;
export function about(
  id: `${string}/${string}`,
  needs: readonly Need[],
  sendCount: number,
  rest: Rest<Case> | Rest<Observation>,
) {
  const spends = { ...(sendCount > 0 && { send: sendCount }), ...rest.spends };
  return { ...rest, id, subject: id.slice(0, id.indexOf('/')), needs, spends };
}

/** A case that judges a recording, and sends nothing more unless its `rest` says so. */
export function judging(
  id: `${RuleId}/${string}`,
  recording: Recording,
  { needs = [], ...rest }: Rest<Case> & Partial<Pick<Case, 'needs'>>,
): Case {
  const all = [...recording.needs, ...needs];
  return about(id, all, 0, { recordings: [recording], ...rest });
}

/** True if no other case may run meanwhile: it moves time, or empties a bucket that others share. */
export function runsAlone(anyCase: AnyCase): boolean {
  const { mustRunAlone = false, needs, waitSeconds = 0, recordings = [] } = anyCase;
  const isRecordedAlone = recordings.some(
    (one) => one.waitSeconds !== undefined || one.fullBuckets !== undefined,
  );
  return mustRunAlone || needs.includes('clock') || waitSeconds > 0 || isRecordedAlone;
}
