/**
 * What is the same for a run of a command and of a function: it injects the faults of the schedule,
 * records the point of each exchange, and chooses the client's key and number.
 */
import {
  type FaultName,
  isCrash,
  type Point,
  refusalNamed,
  type Schedule,
} from '#contract/fault-schedule.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { UsageError } from '#io/command-error.ts';
import { type ClientExchange, isAccepted } from '#judging/client/exchange.ts';
import { isSend, requestIdOf } from '#judging/evidence/exchange.ts';
import { authenticate, type Handled } from '#src/http/service/api.ts';
import type { ChosenFault } from '#src/http/service/faults.ts';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';
import { exchangeOf, exchangesOf } from '#src/recording/judged-exchanges.ts';
import { RecordedExchange } from '#src/recording/recorded-exchange.ts';
import type { Registry } from '#src/sim/accounts/registry.ts';
import type { Simulator } from '#src/simulator.ts';
import { type KnownIntents, Points } from './points.ts';
import { faultKind, pointKey, waitsOf } from './schedule.ts';

export interface Seen {
  readonly exchange: ClientExchange;
  readonly point: Point | undefined;
  readonly fault: FaultName | undefined;
}

type Arrival = Pick<Seen, 'point' | 'fault'>;

export class WatchedRun {
  /** Reads the referee's record of the world; set once the world exists. */
  recorded: () => readonly ClientExchange[] = () => [];
  crash: () => void = () => {};
  /** How long the `throttle` faults of the schedule make a client wait in all. */
  readonly waitMs: number;
  readonly #arrivals: Arrival[] = [];
  readonly #points: Points;
  readonly #faults: ReadonlyMap<string, { readonly name: FaultName; readonly waitSeconds: number }>;
  readonly #slowMs: number;

  /** `slowMs`: how long `slow` holds a reply, in real milliseconds. */
  constructor(
    schedule: Schedule,
    knownIntents: KnownIntents,
    throttleWaits: readonly number[],
    slowMs: number,
  ) {
    this.#points = new Points(knownIntents);
    const waits = [...waitsOf(schedule, throttleWaits)];
    this.waitMs = waits.reduce((sum, seconds) => sum + seconds * 1_000, 0);
    this.#faults = new Map(
      schedule.map(({ at, fault: name }) => {
        const waitSeconds = (name === 'throttle' ? waits.shift() : undefined) ?? 1;
        return [pointKey(at), { name, waitSeconds }];
      }),
    );
    this.#slowMs = slowMs;
  }

  get intents(): KnownIntents {
    return this.#points.intents;
  }

  get seen(): Seen[] {
    const exchanges = this.recorded();
    // The record starts again when the client resets its world: only the last arrivals are in it.
    const arrivals = this.#arrivals.slice(this.#arrivals.length - exchanges.length);
    const none: Arrival = { point: undefined, fault: undefined };
    return exchanges.map((exchange, index) => ({ exchange, ...(arrivals[index] ?? none) }));
  }

  /** Chooses the fault of each request as it arrives; undefined for none. */
  readonly chooseFault = (world: Registry, request: ApiRequest): ChosenFault | undefined => {
    const earlier = this.recorded();
    const number = (earlier.at(-1)?.number ?? 0) + 1;
    const arriving = exchangeWithoutReply(world, request, number);
    const point = this.#points.arrive(arriving, earlier);
    const scheduled = point === undefined ? undefined : this.#faults.get(pointKey(point));
    const fault = canStrike(scheduled?.name, arriving, earlier) ? scheduled : undefined;
    this.#arrivals.push({ point, fault: fault?.name });
    if (fault === undefined) return undefined;
    if (isCrash(fault.name)) this.crash();
    return faultKind(fault.name, this.#slowMs, fault.waitSeconds);
  };
}

/**
 * False for a refusal that the service cannot give: it answers a replay before it looks at the
 * device and the quota (SEND-4).
 */
function canStrike(
  name: FaultName | undefined,
  arriving: ClientExchange,
  earlier: readonly ClientExchange[],
): boolean {
  const requestId = requestIdOf(arriving);
  if (name === undefined || refusalNamed(name) === undefined || !requestId) return true;
  const isFirstUse = (one: ClientExchange) =>
    isSend(one) &&
    one.caller.name === arriving.caller.name &&
    requestIdOf(one) === requestId &&
    isAccepted(one);
  return !earlier.some(isFirstUse);
}

export function recordedBy({ exchangeRecord, simulation }: Simulator): readonly ClientExchange[] {
  return exchangesOf(exchangeRecord, simulation.world.keyRing.texts);
}

/** A request that has no reply yet, in the shape that the record will have. */
function exchangeWithoutReply(
  world: Registry,
  request: ApiRequest,
  number: number,
): ClientExchange {
  const handled: Handled = {
    endpoint: matchRoute(request.path)?.route.endpoint,
    key: authenticate(world, request.authorization),
    reply: { status: 503, body: '', delivery: { cut: 'hang' } },
  };
  const recorded = Object.assign(new RecordedExchange(), { number, atMs: world.now() });
  recorded.isKept = true;
  recorded.fill(request, handled);
  return exchangeOf(recorded, world.keyRing.texts);
}

/**
 * The API key and the sender's number that each run gives its client. Prefers an account with a SIM
 * of its own. Throws a UsageError if the world has no account with a key, or no number.
 */
export function credentialsOf({ accounts, pool }: ReadyNumbers) {
  const usable = accounts.filter(({ api_key }) => api_key !== '');
  const account = usable.find(({ sims }) => sims.length > 0) ?? usable[0];
  if (account === undefined) {
    throw new UsageError(
      'the world has no account with a key: add { "name": "acme" } to accounts, or a key to one of them',
    );
  }
  const from = account.sims[0]?.number ?? pool[0]?.number;
  if (from === undefined) {
    throw new UsageError(
      'the world has no number to send from: add a SIM to an account, or a number to pool',
    );
  }
  return { apiKey: account.api_key, from };
}
