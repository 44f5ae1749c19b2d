/**
 * An intent is one message that a client means to send once. Its attempts are the sends that try to
 * queue that message. `intent-grouping.ts` finds the intents of a record; the client rules judge
 * them.
 */
import type { Exchange } from './exchange.ts';
import type { Report } from './intents-file.ts';

export interface Intent {
  /** The content of its first attempt, as `contentOf` gives it. */
  readonly content: string;
  /** In order of arrival; never empty. */
  readonly attempts: Exchange[];
  /** The `request_id` that the intent got last; undefined while no attempt has one. */
  requestId: string | undefined;
  /**
   * The index of the first attempt that may belong to another intent of the same content. All later
   * attempts are unattributable too. Infinity if every attempt belongs to this intent for certain.
   */
  unattributableFrom: number;
}

/** One `request_id` that a client used for two different messages (CLIENT-6). */
export interface Reuse {
  readonly first: Exchange;
  readonly second: Exchange;
}

/** The result of grouping a record. */
export interface Intents {
  readonly all: readonly Intent[];
  readonly reuses: readonly Reuse[];
  /** The number of attempts that may belong to another intent than the one that lists them. */
  readonly unattributable: number;
}

/** What is known about a record besides its exchanges. */
export interface Knowledge {
  /** True if more exchanges may follow: only what they cannot change is decided. */
  readonly isPartial: boolean;
  /** True if exchanges may be missing before the first one: only equal ids prove one intent. */
  readonly isCutAtStart: boolean;
  /** True if sends of unknown content are left out: a line of a report may be about one of them. */
  readonly lacksSends: boolean;
  /** What the client reported about its intents; undefined without an intents file. */
  readonly reports: readonly Report[] | undefined;
}

export function isAttributable({ unattributableFrom }: Intent): boolean {
  return unattributableFrom === Number.POSITIVE_INFINITY;
}

/** The attempts that belong to the intent for certain. */
export function attributableAttempts({
  attempts,
  unattributableFrom,
}: Intent): readonly Exchange[] {
  return attempts.slice(0, unattributableFrom);
}

export function lastAttempt({ attempts }: Intent): Exchange {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('an intent has an attempt');
  return last;
}
