/**
 * Other readings of recorded traffic: orders of the exchanges, and overlaps, that its record also
 * permits, because its times are not exact or come from several clocks. A finding of the referee must
 * hold in each. A reading changes the exchanges themselves, because copies would cost more than to
 * judge them; they are as before when the last one is over.
 */
import type { ClientExchange, Reading } from '../client/exchange.ts';
import { type Ahead, Clocks } from './clock-offset.ts';

/** An exchange that is not complete yet: its overlaps depend on later ones. */
export type MutableExchange = { -readonly [K in keyof ClientExchange]: ClientExchange[K] };

/** `clocks`: the name of the clock of each exchange. */
export function* otherReadings(
  exchanges: readonly MutableExchange[],
  clocks: readonly string[],
): Generator<Reading> {
  yield* readingsByOneClock(exchanges, clocks);
  yield* readingsByPrecision(exchanges);
}

/**
 * How much later than recorded a reply came at least. The reading that is judged takes this: only
 * exchanges that were certainly open together overlap, because most clients wait for each reply.
 */
export function leastLateMs({ precisionMs = 0 }: ClientExchange): number {
  return -precisionMs;
}

function mostLateMs({ precisionMs = 0, lacksEnd = false }: ClientExchange): number {
  return lacksEnd ? Number.POSITIVE_INFINITY : precisionMs;
}

/** The offset of two clocks that no reply compares. */
const anyTime: Ahead = { least: -1e12, most: 1e12 };

/**
 * If one file has the lines of several recorders: with their times by the clock of the first one, each
 * recorder and the next as far apart as they may be, in one direction and in the other.
 */
function* readingsByOneClock(
  exchanges: readonly MutableExchange[],
  clocks: readonly string[],
): Generator<Reading> {
  const [first, ...others] = new Set(clocks);
  if (others.length === 0) return;
  const offsets = new Clocks();
  for (const [at, { reply }] of exchanges.entries()) offsets.of(clocks[at]).note(reply);
  const own = offsets.of(first);
  const ahead = new Map(
    others.map((name, nth) => {
      const { least, most } = own.behind(offsets.of(name)) ?? anyTime;
      const [oneWay, otherWay] = nth % 2 === 0 ? [least, most] : [most, least];
      return [name, { oneWay, otherWay }];
    }),
  );
  const times = exchanges.map(({ sentAt, answeredAt }) => ({ sentAt, answeredAt }));
  try {
    for (const way of ['oneWay', 'otherWay'] as const) {
      for (const [at, exchange] of exchanges.entries()) {
        const aheadMs = ahead.get(clocks[at] ?? '')?.[way] ?? 0;
        const { sentAt, answeredAt } = times[at] ?? exchange;
        Object.assign(exchange, { sentAt: sentAt - aheadMs, answeredAt: answeredAt - aheadMs });
      }
      const reading = exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
      renumber(reading);
      setOverlaps(reading, leastLateMs);
      yield reading;
    }
  } finally {
    for (const [at, exchange] of exchanges.entries()) Object.assign(exchange, times[at]);
    renumber(exchanges);
    setOverlaps(exchanges, leastLateMs);
  }
}

/** Replies that came as late as they may; and requests of one time in the other order. */
function* readingsByPrecision(exchanges: readonly MutableExchange[]): Generator<Reading> {
  if (!exchanges.some(isInexact)) return;
  const judged = exchanges.map(({ openUntil }) => openUntil);
  try {
    setOverlaps(exchanges, mostLateMs);
    if (exchanges.some(({ openUntil }, at) => openUntil !== judged[at])) yield exchanges;
    if (exchanges.every(({ sentAt }, at) => sentAt !== exchanges[at - 1]?.sentAt)) return;
    const reversed = withTiesReversed(exchanges);
    renumber(reversed);
    setOverlaps(reversed, leastLateMs);
    yield reversed;
  } finally {
    renumber(exchanges);
    setOverlaps(exchanges, leastLateMs);
  }
}

function isInexact({ precisionMs = 0, lacksEnd = false }: ClientExchange): boolean {
  return precisionMs > 0 || lacksEnd;
}

/** The exchanges, with those of equal times in reverse: their true order is not known. */
function withTiesReversed(exchanges: readonly MutableExchange[]): MutableExchange[] {
  const reversed: MutableExchange[] = [];
  let start = 0;
  for (const [at, one] of exchanges.entries()) {
    if (one.sentAt !== exchanges[at - 1]?.sentAt) start = at;
    reversed.splice(start, 0, one);
  }
  return reversed;
}

function renumber(exchanges: readonly MutableExchange[]): void {
  for (const [at, one] of exchanges.entries()) one.number = at + 1;
}

/** Sets which exchanges were open together. Their numbers must be their places, from 1. */
export function setOverlaps(
  exchanges: readonly MutableExchange[],
  lateMsOf: (exchange: ClientExchange) => number,
): void {
  const lastMs = exchanges.at(-1)?.sentAt ?? 0;
  for (const [at, exchange] of exchanges.entries()) {
    const latestMs = exchange.answeredAt + lateMsOf(exchange);
    let openUntil = latestMs === Number.POSITIVE_INFINITY ? exchanges.length : at + 1;
    while ((exchanges[openUntil]?.sentAt ?? latestMs) < latestMs) openUntil++;
    exchange.openUntil = openUntil;
    exchange.isOpenAtEnd = latestMs > lastMs;
  }
}
