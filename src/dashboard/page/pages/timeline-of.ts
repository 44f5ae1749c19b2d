/**
 * The requests of the referee's record that belong to the same intent: all attempts at a message,
 * or repeated GETs of the same caller.
 */
import type { RefereeDetails } from '../wire.ts';

export type Attempt = RefereeDetails['exchanges'][number];

export interface Timeline {
  readonly account: string | null;
  /** Method and path. */
  readonly what: string;
  readonly requestId: string | null;
  readonly to: string | null;
  readonly attempts: readonly Attempt[];
  /** The number of further attempts that are not shown. */
  readonly omitted: number;
}

const mostShown = 100;

/** Of many attempts, the closest ones; undefined if the record does not contain the request. */
export function timelineOf(
  { exchanges, intents }: RefereeDetails,
  number: number,
): Timeline | undefined {
  const one = exchanges.find((exchange) => exchange.number === number);
  if (one === undefined) return undefined;
  const intent = intents.find((each) => each.exchanges.includes(number));
  const numbers = new Set(intent?.exchanges);
  const all = exchanges.filter((exchange) =>
    intent === undefined ? isSame(exchange, one) : numbers.has(exchange.number),
  );
  const first = Math.min(all.indexOf(one) - mostShown / 2, all.length - mostShown);
  const attempts = all.slice(Math.max(0, first)).slice(0, mostShown);
  return {
    account: one.account,
    what: `${one.method} ${one.path}`,
    requestId: intent?.request_id ?? null,
    to: intent?.to ?? null,
    attempts,
    omitted: all.length - attempts.length,
  };
}

function isSame(exchange: Attempt, { account_id: account, method, path }: Attempt): boolean {
  return exchange.account_id === account && exchange.method === method && exchange.path === path;
}
