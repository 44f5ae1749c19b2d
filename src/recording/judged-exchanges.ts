/**
 * Makes the referee's exchanges from a simulator's record. Replaying a journal fills the same
 * record, so the verdicts on a journal are those on the run that wrote it.
 */
import { hash } from 'node:crypto';
import { atOnce } from '#io/event-loop.ts';
import type { ClientCaller, ClientExchange } from '#judging/client/exchange.ts';
import { clientExchangeOf } from '#judging/evidence/exchanges-of-traffic.ts';
import type { MutableExchange } from '#judging/evidence/other-readings.ts';
import { plainAddress, plainJson } from '#judging/evidence/reading.ts';
import type { KeyTexts } from '../sim/accounts/key-texts.ts';
import type { ExchangeRecord } from './exchange-record.ts';
import { type RecordedExchange, textOf } from './recorded-exchange.ts';

const exchangesPerSlice = 50;

/** Reads a record. `keys`: the world's API keys, which exchanges must not show (CLIENT-16). */
export function exchangesOf(record: ExchangeRecord, keys: KeyTexts): ClientExchange[] {
  return atOnce(exchangesInSlices(record, keys));
}

/** The exchanges of a record that were read, with these keys hidden. */
interface ReadExchanges {
  readonly keys: KeyTexts;
  readonly exchanges: MutableExchange[];
  readonly callers: Callers;
}
/** By the id of the key: one object for all of its requests. */
type Callers = Map<string, ClientCaller>;

/**
 * Each exchange is read once, because every report needs all of them. By the array of the record's
 * first exchanges, which a restart replaces.
 */
const readByRecord = new WeakMap<readonly RecordedExchange[], ReadExchanges>();

/** Reads the exchanges in slices. Leaves out exchanges that are recorded while it runs. */
export function* exchangesInSlices(
  { first }: ExchangeRecord,
  keys: KeyTexts,
): Generator<undefined, ClientExchange[]> {
  const recorded = [...first];
  let known = readByRecord.get(first);
  // With other keys, other texts must be hidden: reads all exchanges again.
  if (known?.keys !== keys) {
    known = { keys, exchanges: [], callers: new Map() };
    readByRecord.set(first, known);
  }
  const { exchanges: read, callers } = known;
  for (let next = read.length; next < recorded.length; next = read.length) {
    read.push(exchangeOf(recorded[next] as RecordedExchange, keys, callers));
    if (next % exchangesPerSlice === 0) yield;
  }
  // A delayed reply ends later, and is read again: its end may have been recorded meanwhile.
  const isDelayed = ({ end, delivery }: RecordedExchange) =>
    end !== undefined || delivery?.delayMs !== undefined;
  const exchanges = recorded.map((each, index) =>
    isDelayed(each) ? exchangeOf(each, keys, callers) : (read[index] as MutableExchange),
  );
  for (const [index, exchange] of exchanges.entries()) {
    const isEndUnknown = recorded[index]?.end === undefined;
    if (isEndUnknown && exchange.answeredAt > exchange.sentAt) keepOpen(exchanges, index);
  }
  return exchanges;
}

/** If the record does not show when a delayed reply left, it left after its delay. */
function keepOpen(exchanges: readonly MutableExchange[], index: number): void {
  const delayed = exchanges[index] as MutableExchange;
  for (let next = index + 1; next < exchanges.length; next++) {
    const later = exchanges[next] as MutableExchange;
    if (later.sentAt >= delayed.answeredAt) return;
    delayed.openUntil = later.number;
  }
}

/** One exchange, with the keys that it shows hidden. */
export function exchangeOf(
  recorded: RecordedExchange,
  keys: KeyTexts,
  callers: Callers = new Map(),
): MutableExchange {
  const { number, atMs, end, delivery, contentType } = recorded;
  const traffic = {
    sentAt: atMs,
    answeredAt: end?.atMs ?? atMs + (delivery?.delayMs ?? 0),
    precisionMs: 0,
    method: recorded.method,
    headers: contentType === undefined ? noHeaders : { 'content-type': contentType },
    reply: { status: recorded.status, headers: recorded.headers ?? noHeaders, body: undefined },
    isForced: recorded.isForced,
    // Only a fault garbles a reply.
    isGarbled: recorded.faultKind === undefined ? false : undefined,
    isSeen: end?.isSeen !== false && delivery?.cut === undefined,
  };
  const exchange = clientExchangeOf(traffic, {
    number,
    caller: callerOf(recorded, callers),
    endpoint: recorded.endpoint,
    ...shownIn(recorded, keys),
    replyBody: keys.hidden(recorded.reply ?? ''),
    waitRate: recorded.waitRate,
  });
  exchange.openUntil = end?.openUntil ?? number;
  exchange.isOpenAtEnd = end === undefined && delivery?.delayMs !== undefined;
  return exchange;
}

const noHeaders = {};

function callerOf(recorded: RecordedExchange, callers: Callers): ClientCaller {
  const { accountId: account, accountName, keyId, address, authorization } = recorded;
  const known = keyId === undefined ? undefined : callers.get(keyId);
  if (known !== undefined && known.account === account && known.accountName === accountName)
    return known;
  const caller: ClientCaller = {
    name: account ?? address,
    credential: keyId ?? (authorization && hash('sha256', authorization)),
    account,
    accountName,
    key: account === undefined ? 'wrong' : 'valid',
    isNew: false,
  };
  if (keyId !== undefined) callers.set(keyId, caller);
  return caller;
}

/** The request with its keys hidden. Also finds keys in a body that is not UTF-8. */
function shownIn({ path, query, body = '' }: RecordedExchange, keys: KeyTexts) {
  const text = typeof body === 'string' ? body : '';
  const plain = {
    path: plainAddress(path),
    query: plainAddress(query),
    body: plainJson(textOf(body)),
  };
  const showsKey = keys.findIn(`${plain.path}?${plain.query}\n${plain.body}`).length > 0;
  if (!showsKey) return { path, query, body: text, showsKey };
  return {
    path: keys.hidden(plain.path),
    query: keys.hidden(plain.query),
    body: keys.hidden(plainJson(text)),
    showsKey,
  };
}
