/**
 * A client as the referee's tests know it: a row that says what it does wrong, or what is unusual
 * about it, and its program. A row's name says what the client does, as a predicate.
 */
import type { ClientRuleId } from '#contract/rules.ts';
import type { Simulator } from '#src/api.ts';

/** What may happen to a client; `conditions.ts` makes it happen. */
export type Trouble =
  | 'throttle'
  | 'quota'
  | 'lost_response'
  | 'truncate'
  | 'malformed'
  | 'refuse'
  | 'busy'
  | 'overloaded'
  | 'delay';

/** What shows a client's mistake, and what else it breaks. */
interface Mistake {
  /** Other rules that the same mistake breaks, in some runs or in all. */
  readonly also?: readonly ClientRuleId[];
  /** The troubles without which the mistake does not show; a right client meets all of them. */
  readonly meets?: readonly Trouble[];
}

/** What the catalogue says about a client. */
export interface ClientRow extends Mistake {
  readonly name: string;
  /** The rule that a wrong client breaks; undefined for a right one. */
  readonly rule?: ClientRuleId;
  readonly library: string;
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

/** Programs by what they do. The fields of a row's own mistake replace the shared ones. */
type Programs = Readonly<Record<string, Program | readonly [Program, Mistake]>>;

/** Returns a function that makes rows of wrong clients which break this rule by a like mistake. */
export function breaking(rule: ClientRuleId, shared: Mistake = {}) {
  return (programs: Programs): NodeClient[] =>
    rowsOf(programs).map((client) => ({ rule, ...shared, ...client }));
}

export function right(programs: Programs): NodeClient[] {
  return rowsOf(programs);
}

function rowsOf(programs: Programs): NodeClient[] {
  return Object.entries(programs).map(([name, program]) => {
    const [own, mistake] = 'library' in program ? [program] : program;
    return { name, ...own, ...mistake };
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
  /** Does what people do by hand: create a key, plug in a SIM, move the service's clock. */
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
