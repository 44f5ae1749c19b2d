/**
 * Injects the faults of one run's schedule, and records the point of each exchange.
 */
import type { Handled } from '../http/service/api.ts';
import { authenticate } from '../http/service/authenticate.ts';
import type { FaultKind } from '../http/service/fault.ts';
import type { ApiRequest } from '../http/service/messages.ts';
import { requestEntry } from '../recording/journal-entry.ts';
import type { Exchange } from '../referee/exchange.ts';
import { ExchangeRecord } from '../referee/exchange-record.ts';
import { endpointOf } from '../referee/traffic.ts';
import type { World } from '../sim/world.ts';
import { type FaultName, faultKind } from './fault-names.ts';
import { type KnownIntents, Points } from './points.ts';
import { type Point, pointKey, type Schedule } from './schedule.ts';

/** An exchange of a run, with the fault that it met. */
export interface Seen {
  readonly exchange: Exchange;
  readonly point: Point | undefined;
  readonly fault: FaultName | undefined;
}

type Arrival = Pick<Seen, 'point' | 'fault'>;

export class WatchedRun {
  /** The referee's record of the world; set once the world exists. */
  record: Pick<ExchangeRecord, 'exchanges'> = new ExchangeRecord();
  readonly #arrivals: Arrival[] = [];
  readonly #points: Points;
  readonly #faults: ReadonlyMap<string, FaultName>;
  readonly #slowMs: number;

  /** `slowMs`: real milliseconds. */
  constructor(schedule: Schedule, known: KnownIntents, slowMs: number) {
    this.#points = new Points(known);
    this.#faults = new Map(schedule.map(({ at, fault }) => [pointKey(at), fault]));
    this.#slowMs = slowMs;
  }

  get intents(): KnownIntents {
    return this.#points.intents;
  }

  /** The exchanges in the record, which starts again when the client resets its world. */
  get seen(): Seen[] {
    const exchanges = this.record.exchanges();
    const arrivals = this.#arrivals.slice(this.#arrivals.length - exchanges.length);
    return exchanges.map((exchange, at) => ({
      exchange,
      point: arrivals[at]?.point,
      fault: arrivals[at]?.fault,
    }));
  }

  readonly director = (world: World, request: ApiRequest): FaultKind | undefined => {
    const earlier = this.record.exchanges();
    const point = this.#points.arrive(arriving(world, request, earlier.length + 1), earlier);
    const fault = point === undefined ? undefined : this.#faults.get(pointKey(point));
    this.#arrivals.push({ point, fault });
    return fault === undefined ? undefined : faultKind(fault, this.#slowMs);
  };
}

/** A request that has no reply yet, in the shape that the record will have. */
function arriving(world: World, request: ApiRequest, number: number): Exchange {
  const handled: Handled = {
    endpoint: endpointOf(request.path),
    key: authenticate(world, request.authorization),
    reply: { status: 503, body: '', delivery: { cut: 'hang' } },
  };
  const record = new ExchangeRecord();
  const entry = requestEntry(world.now(), request, handled);
  record.add(entry, handled, { address: '', waitRate: 1, showsKey: false });
  const [exchange] = record.exchanges();
  if (exchange === undefined) throw new Error('a record holds what was added to it');
  return { ...exchange, number, openUntil: number };
}
