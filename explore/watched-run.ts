/**
 * A run as the simulator sees it, of a command or of a function: the faults that it injects by the
 * schedule, the point of each exchange, and the key and number that the client gets.
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
import { type ClientExchange, isAcceptedOrReplayed } from '#judging/client/exchange.ts';
import { isSend, requestIdOf } from '#judging/evidence/exchange.ts';
import { authenticate, type Handled } from '#src/http/service/api.ts';
import type { ChosenFault } from '#src/http/service/faults.ts';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';
import { exchangeOf, exchangesOf } from '#src/recording/judged-exchanges.ts';
import { RecordedExchange } from '#src/recording/recorded-exchange.ts';
import type { Registry } from '#src/sim/accounts/registry.ts';
import { isUndelivered } from '#src/sim/devices/outcomes.ts';
import type { Simulator } from '#src/simulator.ts';
import { type KnownIntents, Points } from './points.ts';
import { pointKey, serviceFault, waitsOf } from './schedule.ts';

/** An exchange of the run, with the point of its request and the fault that struck it. */
export interface Seen {
  readonly exchange: ClientExchange;
  readonly point: Point | undefined;
  readonly fault: FaultName | undefined;
}

interface Arrival extends Pick<Seen, 'point' | 'fault'> {
  /** The call of the client that made the request, counted from 1; undefined for a command. */
  readonly call: number | undefined;
}

export class WatchedRun {
  /** Reads the referee's record of the world; set once the world exists. */
  recorded: () => readonly ClientExchange[] = () => [];
  /** Kills the client; set while a command runs. */
  crash: () => void = () => {};
  /**
   * How long a `throttle` holds its 429, in real milliseconds: what a second worker of the client
   * sends at the same moment arrives before the reply has left, and is not a retry.
   */
  heldMs = 0;
  /** The call of the client that makes the present request. */
  presentCall: () => number | undefined = () => undefined;
  /** By call: the last call that the client had made when the reply to this one reached it. */
  readonly lastCallBeforeReply = new Map<number, number>();
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
    return exchanges.map((exchange, index) => {
      const { point, fault } = arrivals[index] ?? {};
      return { exchange: this.#asTheClientSawIt(exchange, arrivals, index), point, fault };
    });
  }

  /**
   * The exchange, with `openUntil` at the last request that the client sent before the reply
   * reached it: no such request is a reaction to the reply. The record knows only when the reply
   * left.
   */
  #asTheClientSawIt(
    exchange: ClientExchange,
    arrivals: readonly Arrival[],
    index: number,
  ): ClientExchange {
    const lastCall = this.lastCallBeforeReply.get(arrivals[index]?.call ?? 0) ?? 0;
    const later = arrivals.slice(index + 1);
    const reaction = later.findIndex(({ call = Number.POSITIVE_INFINITY }) => call > lastCall);
    const sentBeforeReply = reaction < 0 ? later.length : reaction;
    return {
      ...exchange,
      openUntil: Math.max(exchange.openUntil, exchange.number + sentBeforeReply),
    };
  }

  /** Chooses the fault of each request as it arrives; undefined for none. */
  readonly chooseFault = (world: Registry, request: ApiRequest): ChosenFault | undefined => {
    const earlier = this.recorded();
    const number = (earlier.at(-1)?.number ?? 0) + 1;
    const arriving = exchangeWithoutReply(world, request, number);
    const point = this.#points.arrive(arriving, earlier);
    const scheduled = point === undefined ? undefined : this.#faults.get(pointKey(point));
    const fault = canStrike(scheduled?.name, arriving, earlier) ? scheduled : undefined;
    this.#arrivals.push({ point, fault: fault?.name, call: this.presentCall() });
    if (fault === undefined) return undefined;
    this.#points.isStruck = true;
    if (isCrash(fault.name)) this.crash();
    const chosen = serviceFault(fault.name, this.#slowMs, fault.waitSeconds);
    const isHeld = fault.name === 'throttle' && this.heldMs > 0;
    return isHeld ? { ...chosen, heldMs: this.heldMs } : chosen;
  };
}

/** False for a refusal that the service cannot give, because the send is a replay (SEND-4). */
function canStrike(
  name: FaultName | undefined,
  arriving: ClientExchange,
  earlier: readonly ClientExchange[],
): boolean {
  const requestId = requestIdOf(arriving);
  if (name === undefined || refusalNamed(name) === undefined || !requestId) return true;
  const isOriginal = (one: ClientExchange) =>
    isSend(one) &&
    one.caller.name === arriving.caller.name &&
    requestIdOf(one) === requestId &&
    isAcceptedOrReplayed(one);
  return !earlier.some(isOriginal);
}

/** The record of a world, as the referee reads it. */
export function recordedBy({ exchangeRecord, simulation }: Simulator): readonly ClientExchange[] {
  return exchangesOf(exchangeRecord, simulation.world.keyRing.texts);
}

/** Whether a message of the world never becomes `delivered`. */
export function endingsIn({ simulation }: Simulator): (messageId: string) => boolean {
  const { messages } = simulation.world;
  return (id) => isUndelivered(messages.get(id));
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
