/**
 * Exchanges from a journal. The journal is played again, since only a live world knows whose key a
 * request carried; the replies are the recorded ones.
 */
import type { Entry, RequestEntry } from '../recording/journal-entry.ts';
import type { JournalHeader } from '../recording/journal-header.ts';
import type { Player } from '../recording/play.ts';
import type { World } from '../sim/world.ts';
import type { Exchange } from './exchange.ts';
import { endpointOf, isGarbled, objectIn, waitMs } from './traffic.ts';

/**
 * Hands on the entries of a run to the simulator that plays it, and adds each request to
 * `exchanges` just before. `header` is the journal's.
 */
export function* watchExchanges(
  entries: Iterable<Entry>,
  player: Pick<Player, 'simulation'>,
  header: JournalHeader,
  exchanges: Exchange[],
): Generator<Entry> {
  const rate = realWaitRate(header);
  for (const entry of entries) {
    if ('request' in entry) {
      exchanges.push(exchangeOf(entry, exchanges.length + 1, player.simulation.world, rate));
    }
    yield entry;
  }
}

/** Simulated seconds for each second that `Retry-After` counts (`--retry-after real`). */
function realWaitRate({ settings }: JournalHeader): number {
  const { clock, rate, retryAfterSeconds } = settings;
  return clock === 'scaled' && retryAfterSeconds === 'real' && typeof rate === 'number' ? rate : 1;
}

function exchangeOf(
  { at, request, reply }: RequestEntry,
  number: number,
  world: World,
  rate: number,
) {
  const { method, path, query = '', key_id: keyId = '' } = request;
  const text = request.body ?? '';
  const atMs = Date.parse(at);
  const account = world.keys.get(keyId)?.account;
  const accountId = account?.accountId;
  const target = query === '' ? path : `${path}?${query}`;
  return {
    number,
    atMs,
    answeredAtMs: atMs + (reply.delivery?.delayMs ?? 0),
    caller: accountId ?? `address ${request.client_ip ?? ''}`,
    accountId,
    accountName: account?.name,
    endpoint: endpointOf(path),
    method,
    target,
    text,
    body: objectIn(text),
    status: reply.status,
    retryAfterMs: reply.status === 429 ? waitMs(reply.headers?.['retry-after'], rate) : undefined,
    reply: objectIn(reply.body),
    isSeen: reply.delivery?.cut === undefined && !isGarbled(reply.status, reply.body),
    showsKey: showsKey(`${target}\n${text}`, world),
  } satisfies Exchange;
}

/** What a key may look like inside a path, a query or a body. */
const tokens = /[A-Za-z0-9_.~+/=-]{8,200}/g;

function showsKey(text: string, world: World): boolean {
  for (const { key } of world.keys.values()) if (key !== '' && text.includes(key)) return true;
  return [...text.matchAll(tokens)].some(([token]) => world.keyRing.find(token) !== undefined);
}
