/** The input of the rules: the exchanges of a record, its intents and the client's own reports. */

import type { ClientRuleId } from '#contract/rules.ts';
import { hourMs, isoTime } from '#contract/time.ts';
import type { Exchange } from './exchange.ts';
import type { Intents, Knowledge } from './intents.ts';

export interface ClientRecord extends Knowledge {
  readonly exchanges: readonly Exchange[];
  /** All that showed the client a message, also where their callers are not known. */
  readonly reads: readonly Exchange[];
  readonly intents: Intents;
  /** How long after a 429 a request still counts as sent before it (CLIENT-2). */
  readonly graceMs: number;
  /** True if a message is never delivered; undefined if only the client's reads can tell. */
  readonly endsUndelivered: ((messageId: string) => boolean) | undefined;
}

export interface Finding {
  /** Undefined if the caller was not authenticated. */
  readonly accountId: string | undefined;
  readonly endpoint: string | undefined;
  /** What happened, with times, and what to do. */
  readonly what: string;
  /** The exchanges that prove it, in order; the last one is at fault. */
  readonly exchanges: readonly Exchange[];
}

/** What a reader must hear although it breaks no rule. */
export type Notice = Pick<Finding, 'what' | 'exchanges'>;

export interface Judgement {
  /** In how many cases the rule could have been broken. */
  readonly exercised: number;
  readonly findings: readonly Finding[];
  readonly notices?: readonly Notice[];
}

export type Judge = (record: ClientRecord) => Judgement;
export type Judges = Readonly<Partial<Record<ClientRuleId, Judge>>>;

/** Judges each case in which the rule could be broken. */
export function judgement<T>(
  cases: readonly T[],
  isBroken: (one: T) => boolean,
  findingOf: (one: T) => Finding,
): Judgement {
  return { exercised: cases.length, findings: cases.filter(isBroken).map(findingOf) };
}

export const notExercised: Judgement = { exercised: 0, findings: [] };

/** A finding that these exchanges prove; the last of them is the one at fault. */
export function finding(what: string, exchanges: readonly Exchange[]): Finding {
  const last = exchanges.at(-1);
  const when = last === undefined ? '' : ` (request at ${isoTime(last.atMs)})`;
  const { accountId, endpoint } = last ?? {};
  return { accountId, endpoint, what: `${what}${when}`, exchanges };
}

/** A duration as text: `41.0 s`, `0.25 s`, `14.999 s`, `26 h`, `24 h and 0.001 s`. */
export function spanText(ms: number): string {
  const hours = Math.floor(ms / hourMs);
  if (hours >= 1_000_000) return 'more than a million hours';
  if (hours < 2) return secondsText(ms);
  const restMs = ms % hourMs;
  return restMs > 0 && restMs < 60_000 ? `${hours} h and ${secondsText(restMs)}` : `${hours} h`;
}

function secondsText(ms: number): string {
  const seconds = (ms / 1_000).toFixed(3).replace(/0{1,2}$/, '');
  return `${seconds} s`;
}
