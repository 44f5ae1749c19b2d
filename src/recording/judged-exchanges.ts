/**
 * Makes the referee's exchanges from a simulator's record. Replaying a journal fills the same
 * record, so the verdicts on a journal are those on the run that wrote it.
 */

import { sha256 } from '#io/digest.ts';
import { atOnce } from '#io/slices.ts';
import type { Exchange } from '#judging/client/exchange.ts';
import {
  asksForWait,
  isGarbled,
  objectIn,
  plainAddress,
  plainJson,
  waitMs,
} from '#judging/evidence/reading.ts';
import type { KeyTexts } from '../sim/accounts/key-ring.ts';
import type { ExchangeRecord } from './exchange-record.ts';
import { type RecordedExchange, textOf } from './recorded-exchange.ts';

const exchangesPerSlice = 50;

/** `keys`: the API keys of the world, which exchanges must not show (CLIENT-16). */
export function exchangesOf(record: ExchangeRecord, keys: KeyTexts): Exchange[] {
  return atOnce(readingOf(record, keys));
}

/** What was read of a record: each exchange is read once, as a report needs all of them again. */
interface Reading {
  readonly keys: KeyTexts;
  readonly exchanges: MutableExchange[];
}
/** By the first exchanges of the record, which are others after a restart. */
const readings = new WeakMap<readonly RecordedExchange[], Reading>();

/** The same in slices. Leaves out exchanges that are recorded while it runs. */
export function* readingOf(
  { first }: ExchangeRecord,
  keys: KeyTexts,
): Generator<undefined, Exchange[]> {
  const recorded = [...first];
  let reading = readings.get(first);
  // Other keys are hidden.
  if (reading?.keys !== keys) {
    reading = { keys, exchanges: [] };
    readings.set(first, reading);
  }
  const read = reading.exchanges;
  for (let next = read.length; next < recorded.length; next = read.length) {
    read.push(exchangeOf(recorded[next] as RecordedExchange, keys));
    if (next % exchangesPerSlice === 0) yield;
  }
  const isSettled = ({ end, delivery }: RecordedExchange) =>
    end === undefined && delivery?.delayMs === undefined;
  const exchanges = recorded.map((each, index) =>
    isSettled(each) ? (read[index] as MutableExchange) : exchangeOf(each, keys),
  );
  const firstNumber = exchanges[0]?.number ?? 0;
  // If the record does not show when a delayed reply left, it left after its delay.
  for (const [index, delayed] of exchanges.entries()) {
    if (recorded[index]?.end !== undefined || delayed.answeredAtMs === delayed.atMs) continue;
    while (isBefore(exchanges[delayed.openUntil + 1 - firstNumber], delayed)) delayed.openUntil++;
  }
  return exchanges;
}

/** An exchange whose later neighbours are not known yet. */
type MutableExchange = Exchange & { openUntil: number };

function isBefore(later: Exchange | undefined, { answeredAtMs }: Exchange): boolean {
  return later !== undefined && later.atMs < answeredAtMs;
}

/** One exchange, with the keys that it shows hidden. */
export function exchangeOf(recorded: RecordedExchange, keys: KeyTexts): MutableExchange {
  const { number, atMs, end, delivery, status, accountId, address, authorization } = recorded;
  const { target, text, showsKey } = shownIn(recorded, keys);
  const replyText = keys.hidden(recorded.reply ?? '');
  const reply = objectIn(replyText);
  const isWhole = reply !== undefined || !isGarbled(status, replyText);
  const header = asksForWait(status) ? recorded.headers?.['retry-after'] : undefined;
  return {
    number,
    atMs,
    answeredAtMs: end?.atMs ?? atMs + (delivery?.delayMs ?? 0),
    openUntil: end?.openUntil ?? number,
    isOpenAtEnd: end === undefined && delivery?.delayMs !== undefined,
    caller: accountId ?? address,
    credential: recorded.keyId ?? (authorization && sha256(authorization)),
    accountId,
    accountName: recorded.accountName,
    endpoint: recorded.endpoint,
    method: recorded.method,
    target,
    text,
    body: objectIn(text),
    status,
    isForced: recorded.isForced,
    retryAfterMs: waitMs(header, recorded.waitRate, atMs),
    retryAfter: header,
    reply,
    isSeen: end?.isSeen !== false && delivery?.cut === undefined && isWhole,
    ...(!isWhole && { isGarbled: true }),
    showsKey,
  };
}

/** The request with its keys hidden. Also finds keys in a body that is not UTF-8. */
function shownIn(
  { path, query, body = '' }: RecordedExchange,
  keys: KeyTexts,
): Pick<Exchange, 'target' | 'text' | 'showsKey'> {
  const target = query === '' ? path : `${path}?${query}`;
  const text = typeof body === 'string' ? body : '';
  const plain = { target: plainAddress(target), text: plainJson(textOf(body)) };
  const showsKey = keys.findIn(`${plain.target}\n${plain.text}`).length > 0;
  if (!showsKey) return { target, text, showsKey };
  return { target: keys.hidden(plain.target), text: keys.hidden(plainJson(text)), showsKey };
}
