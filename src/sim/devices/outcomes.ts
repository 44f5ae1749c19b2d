/**
 * The fate of a message: whether it is delivered, fails or stays in a status. Outcomes script it by
 * recipient, because the document does not say when a message fails. They also script refusals, for
 * tests that have no control port. Rules: STATE-3 to STATE-5, ERR-1 to ERR-3, AUTH-4, AUTH-5.
 * Assumes: failsFrom, failureRate.
 */
import type { Status } from '#contract/message-status.ts';
import { type UnfinishedStatus, unfinishedStatuses } from '#contract/message-status.ts';
import {
  scriptedRecipients as recipients,
  type ScriptedRefusal,
  scriptedRefusals,
} from '#contract/refusals.ts';
import { secondMs } from '#contract/time.ts';
import type { Assumptions } from '../assumptions.ts';
import type { ServiceError } from '../errors.ts';
import type { Rng } from '../random.ts';

/** An outcome as world files and the control port write it. */
export interface Outcome {
  /** The recipients to which it applies; `*` stands for any digits. */
  readonly to: string;
  readonly ends: 'delivered' | 'failed' | 'stuck' | 'refused';
  /** The status in which it fails or stays; absent for `delivered`. */
  readonly in?: UnfinishedStatus | undefined;
  /** Polls that each step takes. */
  readonly polls?: number | undefined;
  /** How the send is refused, if `ends` is `refused`. */
  readonly refuse?: ScriptedRefusal | undefined;
}

/** The most outcomes that a user may give to a world. */
export const mostOutcomes = 10_000;

/** What happens to messages for these recipients in every world, after the world's own outcomes. */
export const scriptedOutcomes: readonly Outcome[] = [
  { to: recipients.failsQueued, ends: 'failed', in: 'queued', polls: 1 },
  { to: recipients.failsSending, ends: 'failed', in: 'sending', polls: 1 },
  { to: recipients.failsSent, ends: 'failed', in: 'sent', polls: 1 },
  { to: recipients.staysQueued, ends: 'stuck', in: 'queued', polls: 1 },
  { to: recipients.staysSending, ends: 'stuck', in: 'sending', polls: 1 },
  { to: recipients.staysSent, ends: 'stuck', in: 'sent', polls: 1 },
  { to: recipients.slow, ends: 'delivered', polls: 3 },
  { to: recipients.overQuota, ends: 'refused', refuse: 'quota_exceeded' },
  { to: recipients.unknownSender, ends: 'refused', refuse: 'from_number_not_found' },
  { to: recipients.deniedSender, ends: 'refused', refuse: 'from_number_access_deniedd' },
  { to: recipients.inactiveSender, ends: 'refused', refuse: 'device_inactive' },
  { to: recipients.throttled, ends: 'refused', refuse: 'throttled' },
];

/** What one message will do; undefined means "delivered, one step a poll". */
export interface Fate {
  readonly ends: Exclude<Outcome['ends'], 'refused'>;
  readonly in: UnfinishedStatus | undefined;
  readonly polls: number;
}

/**
 * The fates of random failures, by the status in which they happen. There is one object for each,
 * so that such a fate is recognised by identity.
 */
export const unpromptedFates = Object.fromEntries(
  unfinishedStatuses.map((status) => [status, { ends: 'failed', in: status, polls: 1 }]),
) as unknown as Readonly<Record<UnfinishedStatus, Fate>>;

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
export function isUndelivered(message: EndingFields | undefined): boolean {
  if (message === undefined) return false;
  const { status, fate } = message;
  if (status === 'failed' || status === 'delivered') return status === 'failed';
  return fate !== undefined && fate.ends !== 'delivered';
}

/** The fields of a message that decide how it ends. */
interface EndingFields {
  readonly status: Status;
  readonly fate: Fate | undefined;
}

/** What an outcome scripts; a send that is refused at first is delivered later. */
interface Script {
  readonly fate: Fate;
  readonly refuse: ScriptedRefusal | undefined;
}

/** The wait that a scripted 429 asks for. */
const scriptedWaitMs = 5 * secondMs;
/** The most sends that are remembered after a scripted 429; the oldest is forgotten first. */
export const mostScriptedWaits = 1_000;

export class Outcomes {
  /** When each send that a scripted 429 has refused was first tried. */
  readonly #firstTries = new Map<string, number>();
  #outcomes: readonly Outcome[] = [];
  /** The scripts of outcomes before the first with a pattern, by number. */
  #exact = new Map<string, Script>();
  /** The other outcomes, in order. */
  #patterns: readonly { readonly matches: NumberTest; readonly script: Script }[] = [];

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
    const patterns: { matches: NumberTest; script: Script }[] = [];
    for (const { to, ends, in: status, polls = 1, refuse } of outcomes) {
      const fate: Fate = { ends: ends === 'refused' ? 'delivered' : ends, in: status, polls };
      const script = { fate, refuse };
      if (to.includes('*') || patterns.length > 0) {
        // After the first pattern, order matters, so later outcomes are also tried in order.
        patterns.push({ matches: numberTest(to), script });
      } else if (!this.#exact.has(to)) {
        this.#exact.set(to, script);
      }
    }
    this.#patterns = patterns;
  }

  /** The index of the outcome that applies to a recipient, or -1. */
  indexFor(to: string): number {
    return this.#outcomes.findIndex((outcome) => numberTest(outcome.to)(to));
  }

  /**
   * The fate of a message that is accepted now. `failsFrom` restricts scripted and random failures
   * alike.
   */
  fateOf(to: string, assumptions: Assumptions, rng: Rng): Fate | undefined {
    const scripted = this.#scriptFor(to)?.fate;
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

  /**
   * The refusal that is scripted for a recipient, or undefined. A 429 is temporary: once the wait
   * of a send's first attempt is over, its next one is accepted (ERR-3). `sendKey` names the send.
   */
  refusalOf(to: string, sendKey: () => string, nowMs: number): ServiceError | undefined {
    const refuse = this.#scriptFor(to)?.refuse;
    if (refuse === undefined) return undefined;
    const kind = scriptedRefusals[refuse];
    if (kind !== 'throttled') return { kind };
    const key = sendKey();
    const firstMs = this.#firstTries.get(key) ?? nowMs;
    const waitMs = firstMs + scriptedWaitMs - nowMs;
    if (waitMs <= 0) {
      this.#firstTries.delete(key);
      return undefined;
    }
    this.#firstTries.set(key, firstMs);
    const [oldest = ''] = this.#firstTries.keys();
    if (this.#firstTries.size > mostScriptedWaits) this.#firstTries.delete(oldest);
    return { kind, retryAfterSeconds: Math.ceil(waitMs / secondMs) };
  }

  /** The sends that wait after a scripted 429, each with the time of its first attempt. */
  get waiting(): readonly (readonly [string, number])[] {
    return [...this.#firstTries];
  }

  restoreWaiting(waiting: Outcomes['waiting']): void {
    for (const [key, firstMs] of waiting) this.#firstTries.set(key, firstMs);
  }

  #scriptFor(to: string): Script | undefined {
    const exact = this.#exact.get(to);
    if (exact !== undefined) return exact;
    for (const { matches, script } of this.#patterns) if (matches(to)) return script;
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
