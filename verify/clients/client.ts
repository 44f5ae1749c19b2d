/**
 * A client as the referee's tests know it: a row of what it does wrong, or what is odd about it,
 * and its program. Programs in other languages get the same job as JSON (`foreign-run.ts`).
 */

import type { Simulator } from '../../src/api.ts';
import type { ClientRuleId } from '../../src/ledger/rules.ts';
import type { Trouble } from './conditions.ts';

export interface ClientRow {
  readonly name: string;
  /** The rule that a wrong client breaks; undefined for a right one. */
  readonly rule?: ClientRuleId;
  /** Other rules that the same mistake breaks, in some runs or in all. */
  readonly also?: readonly ClientRuleId[];
  readonly library: string;
  readonly does: string;
  /** What must happen for a mistake to show; a right client meets all of it. */
  readonly meets?: readonly Trouble[];
}

/** How a client in Node does its job. */
export interface Program {
  readonly library: string;
  readonly run: (job: Job) => Promise<void>;
  /** True for a library that takes no `fetch`. */
  readonly onSocket?: boolean;
  /** True if the client speaks what only Node's server answers. */
  readonly onNodeServer?: boolean;
}

export type NodeClient = ClientRow & Program;

/** What shows a mistake, and what else it breaks. */
type Mistake = Pick<ClientRow, 'also' | 'meets'>;

/** Rows by name: what the client does, how, and how its mistake differs from the group's. */
export type Rows<How> = Readonly<
  Record<string, readonly [does: string, how: How, mistake?: Mistake]>
>;

/** Makes rows of wrong clients that break one rule; `shared` holds for all that say no other. */
export function breaking(rule: ClientRuleId, shared: Mistake = {}) {
  return <How extends object>(rows: Rows<How>): (ClientRow & How)[] =>
    right(rows).map((client) => ({ ...shared, ...client, rule }));
}

/** Right clients. */
export function right<How extends object>(rows: Rows<How>): (ClientRow & How)[] {
  return Object.entries(rows).map(([name, [does, how, mistake]]) => {
    return { name, does, ...how, ...mistake } as ClientRow & How;
  });
}

export interface Message {
  /** The client's own name of it, such as an order. */
  readonly intent: string;
  readonly to: string;
  readonly from: string;
  readonly message: string;
}

/** What a client is asked to do, and with what. */
export interface Job {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly key: string;
  readonly messages: readonly Message[];
  /** From 0 up to 1, drawn from the seed. */
  readonly random: () => number;
  /** A line of the intents file. */
  readonly report: (
    message: Message,
    requestId: string | undefined,
    reported: 'accepted' | 'delivered' | 'failed',
  ) => void;
  /** For what a team does by hand: a second key, a SIM plugged in, the service's clock. */
  readonly simulator: Simulator;
}

export const sendPath = '/api/v1/sms/send/';

export function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** On the timers of the moment, which the test moves. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
