/**
 * One run of the client before it is judged: how it ended, what it sent, and which messages were
 * accepted; and counts of the accepted messages, by which runs are compared.
 */
import type { Schedule } from '#contract/fault-schedule.ts';
import { grouped } from '#io/grouped.ts';
import { type ClientExchange, recipientAndTextOf } from '#judging/client/exchange.ts';
import type { ReportedIntent } from '#judging/client/intents-file.ts';
import { isSend, requestIdOf } from '#judging/evidence/exchange.ts';
import type { KnownIntents } from './points.ts';
import type { Seen } from './watched-run.ts';

export interface Ending {
  readonly kind: 'passed' | 'failed' | 'timeout';
  /** Why it did not pass, such as `exit code 1`; empty if it passed. */
  readonly how: string;
  /** The first and the last lines of the client's output, or its error. */
  readonly tail: string;
}

/**
 * Runs the client once in a fresh world. `throttleWaits`: the seconds of `Retry-After` that the
 * first `throttle` of the schedule asks for, the second and so on; the last one holds for the rest.
 * Rejects with a SearchStopped if the user interrupts it.
 */
export type RunClient = (
  schedule: Schedule,
  knownIntents: KnownIntents,
  throttleWaits: readonly number[],
) => Promise<RawRun>;

/** Thrown instead of a run: the user has interrupted the search, or its budget has ended. */
export class SearchStopped extends Error {
  readonly stop: 'interrupted' | 'budget';

  constructor(stop: SearchStopped['stop']) {
    super(stop);
    this.stop = stop;
  }
}

export interface RawRun {
  readonly ending: Ending;
  readonly seen: readonly Seen[];
  readonly intents: KnownIntents;
  /** Undefined without an intents file. */
  readonly reports: readonly ReportedIntent[] | undefined;
  /** True if the message never becomes `delivered`, as the simulator of the run knows. */
  readonly endsUndelivered: (messageId: string) => boolean;
}

/**
 * The number of accepted messages by recipient alone: a retry may have another sender, endpoint,
 * account, text or time, and the recipient gets one message all the same.
 */
export type Accepted = ReadonlyMap<string, number>;

/** The recipient of a send, or its whole body, if that has none. */
export function recipientOf({ fields, body }: ClientExchange): string {
  const to = fields?.['to'];
  return typeof to === 'string' ? to : body;
}

/** The sends that created a message: their reply is a 202, while a replay gets a 200. */
export function newlyAccepted(exchanges: readonly ClientExchange[]): readonly ClientExchange[] {
  return exchanges.filter((exchange) => isSend(exchange) && exchange.reply.status === 202);
}

/** The number of accepted messages by recipient, or by another key. */
export function acceptedIn(exchanges: readonly ClientExchange[], keyOf = recipientOf): Accepted {
  const byKey = grouped(newlyAccepted(exchanges), keyOf);
  return new Map([...byKey].map(([key, { length }]) => [key, length]));
}

/** The messages that were accepted under several ids, with the number of their ids. */
export function sentUnderSeveralIds(
  exchanges: readonly ClientExchange[],
): ReadonlyMap<string, number> {
  const withId = newlyAccepted(exchanges).filter((send) => requestIdOf(send) !== undefined);
  const byMessage = grouped(withId, recipientAndTextOf);
  const counts = [...byMessage].map(([message, sends]): [string, number] => [
    message,
    new Set(sends.map(requestIdOf)).size,
  ]);
  return new Map(counts.filter(([, ids]) => ids > 1));
}

export function totalOf(accepted: Accepted): number {
  return [...accepted.values()].reduce((sum, times) => sum + times, 0);
}

export function areEqual(one: Accepted, other: Accepted): boolean {
  return (
    one.size === other.size &&
    [...one].every(([recipient, times]) => other.get(recipient) === times)
  );
}
