/**
 * A client as the referee's tests know it: a row that says what it does wrong, or what is unusual
 * about it, and its program. Programs in other languages get the same job as JSON
 * (`foreign-run.ts`).
 */

import type { ClientRuleId } from '#contract/rules.ts';
import type { Simulator } from '#src/api.ts';

/** What may happen to a client, as `conditions.ts` arranges it. */
export type Trouble =
  | 'throttle'
  | 'lost_response'
  | 'truncate'
  | 'malformed'
  | 'refuse'
  | 'busy'
  | 'overloaded'
  | 'delay'
  | 'quota';

export interface ClientRow {
  readonly name: string;
  /** The rule that a wrong client breaks; undefined for a right one. */
  readonly rule?: ClientRuleId;
  /** Other rules that the same mistake breaks, in some runs or in all. */
  readonly also?: readonly ClientRuleId[];
  readonly library: string;
  /** What the client does, as a predicate: "retries a 429 at once". */
  readonly does: string;
  /** The troubles without which the mistake does not show; a right client meets all of them. */
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

/** Rows by name: what the client does, its program, and how its mistake differs from others. */
export type Rows<Extra> = Readonly<
  Record<string, readonly [does: string, program: Extra, mistake?: Mistake]>
>;

/** Makes rows of wrong clients that break one rule; a row's own mistake replaces `shared`. */
export function breaking(rule: ClientRuleId, shared: Mistake = {}) {
  return <Extra extends object>(rows: Rows<Extra>): (ClientRow & Extra)[] =>
    right(rows).map((client) => ({ ...shared, ...client, rule }));
}

/** Makes rows of right clients. */
export function right<Extra extends object>(rows: Rows<Extra>): (ClientRow & Extra)[] {
  return Object.entries(rows).map(([name, [does, program, mistake]]) => {
    return { name, does, ...program, ...mistake } as ClientRow & Extra;
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
  /** Writes a line of the intents file. */
  readonly report: (
    message: Message,
    requestId: string | undefined,
    reported: 'accepted' | 'delivered' | 'failed',
  ) => void;
  /** For what people do by hand: create a key, plug in a SIM, move the service's clock. */
  readonly simulator: Simulator;
}

export const sendPath = '/api/v1/sms/send/';

export function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** Uses the timers that are installed when it is called: a test moves them. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
