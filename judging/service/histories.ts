/**
 * The history of a message: the statuses that its reads show, and when each of them began. A read
 * shows only that a status began since the read before, so each status has two bounds, and a status
 * that reads may have missed proves nothing. `status.ts` and `pace.ts` judge histories.
 */
import { onceInTurn, push } from '#io/grouped.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isRead,
  isSend,
  messageIdOf,
} from '../evidence/exchange.ts';
import * as verify from './expectations.ts';
import type { Trace } from './judge.ts';
import { holdEndOf, mayBeHeld } from './validity.ts';

/** The statuses of a message that does not fail. */
export const statusOrder = ['queued', 'sending', 'sent', 'delivered'];
/** What a service may call `queued` while `send_at` holds the message (`heldStatus`). */
export const heldStatus = 'scheduled';
export const finalStatuses = ['delivered', 'failed'];
export const pickedUpStatuses = ['sending', 'sent', 'delivered', 'failed'];

/** A status of a message, and the two times between which the status began. */
interface Sighting {
  readonly status: string;
  /** When the last read that shows the status before was sent. */
  readonly after: number;
  /** When the first read that shows this status was answered. */
  readonly until: number;
  /** The first exchange that shows the status. */
  readonly exchange: Exchange;
}

/** A message, and each change of its status. */
export interface History {
  /** The accepted send. In recorded traffic whose send is missing, the first read. */
  readonly start: Exchange;
  readonly messageId: string;
  readonly reads: readonly Exchange[];
  readonly sightings: readonly Sighting[];
}

/** The histories of all messages that were read. */
export const historiesIn = onceInTurn(findHistories);

function findHistories({
  exchanges,
  recorded,
}: Pick<Trace, 'exchanges' | 'recorded'>): readonly History[] {
  const histories: History[] = [];
  if (!exchanges.some(isRead)) return histories;
  const readsById = new Map<string, Exchange[]>();
  for (const exchange of exchanges) {
    if (isRead(exchange) && exchange.reply.status === 200 && exchange.id !== undefined)
      push(readsById, exchange.id, exchange);
  }
  const addHistory = (messageId: string, start: Exchange) => {
    const reads = readsById.get(messageId);
    if (reads === undefined) return;
    histories.push({ start, messageId, reads, sightings: sightingsIn(start, reads) });
  };
  const sends = exchanges.filter((exchange) => isSend(exchange) && isAccepted(exchange));
  for (const send of sends) addHistory(messageIdOf(send), send);
  if (recorded === undefined) return histories;
  const sentIds = new Set(sends.map(messageIdOf));
  for (const [messageId, [firstRead]] of readsById)
    if (!sentIds.has(messageId) && firstRead !== undefined) addHistory(messageId, firstRead);
  return histories;
}

function sightingsIn(start: Exchange, reads: readonly Exchange[]): Sighting[] {
  const { sentAt: after, answeredAt: until } = start;
  const shown = statusOf(start);
  // The bodies of two of the sends are open, so a 202 may show no status.
  const isOpen = !isRead(start) && !isMessageSend(start);
  const firstStatus = shown === heldStatus || isOpen ? 'queued' : shown;
  let last: Sighting = { status: firstStatus, after, until, exchange: start };
  const sightings = [last];
  let lastReadAt = after;
  for (const exchange of reads) {
    const status = statusOf(exchange);
    // Of two reads at the same time, the later one may show the older status.
    const isOlder = rankOf(status) < rankOf(last.status);
    const isOvertaken = isOlder && exchange.sentAt < last.exchange.answeredAt;
    if (status !== last.status && !isOvertaken && status !== heldStatus) {
      last = { status, after: lastReadAt, until: exchange.answeredAt, exchange };
      sightings.push(last);
    }
    lastReadAt = exchange.sentAt;
  }
  return sightings;
}

/** The later a status comes in a message's life, the higher its rank; -1 for an unknown status. */
export function rankOf(status: string): number {
  return status === 'failed' ? statusOrder.length : statusOrder.indexOf(status);
}

export function statusOf(read: Exchange): string {
  return verify.textOf(bodyOf(read)['status']);
}

export function startsWithRead({ start }: History): boolean {
  return isRead(start);
}

/** A message's statuses and times, for reports. */
export function describeHistory({ start, sightings }: History): string {
  return sightings
    .map(({ status, until }) => `${status} (+${((until - start.answeredAt) / 1000).toFixed(1)} s)`)
    .join(', ');
}

/** Milliseconds from the first sight of each status to the first sight of the next one. */
export function durationsOf({ sightings }: History): number[] {
  return sightings.slice(1).map(({ until }, i) => until - (sightings[i]?.until ?? 0));
}

/**
 * The latest time, by our clock, at which a message becomes due for pickup: at once, or at the end
 * of its hold, which the target's clock decides. Infinity if that end cannot be read.
 */
export function latestDueAt({ start }: History, hasExactTimes: boolean): number {
  if (!mayBeHeld(start)) return start.answeredAt;
  const { least = 0 } = hasExactTimes ? {} : (start.ahead ?? {});
  return Math.max(start.answeredAt, (holdEndOf(start) ?? Number.POSITIVE_INFINITY) - least);
}

/** The first status after queued; undefined if no read shows one. */
export function pickupOf({ sightings }: History): Sighting | undefined {
  return sightings.find(({ status }) => pickedUpStatuses.includes(status));
}

/** The polls for tasks from which the pickup may have come. */
export function pollsAtPickup(history: History, log: readonly Exchange[]): Exchange[] {
  const pickup = pickupOf(history);
  if (pickup === undefined) return [];
  return log.filter(
    ({ endpoint, sentAt, answeredAt }) =>
      endpoint === 'tasks' && answeredAt >= pickup.after && sentAt <= pickup.until,
  );
}

/** The last time at which a message was certainly still queued. */
export function lastQueuedAt(history: History): number {
  const { reads, start } = history;
  return pickupOf(history)?.after ?? reads.at(-1)?.sentAt ?? start.sentAt;
}

/** A change from one status to the next that reads show. */
export interface Step {
  readonly from: Sighting;
  readonly to: Sighting;
  readonly history: History;
}

export const stepsOf = onceInTurn((histories: readonly History[]): readonly Step[] => {
  const steps: Step[] = [];
  for (const history of histories) {
    let from: Sighting | undefined;
    for (const to of history.sightings) {
      if (from !== undefined) steps.push({ from, to, history });
      from = to;
    }
  }
  return steps;
});
