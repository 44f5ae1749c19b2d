/**
 * What reads show of each message: its statuses, and between which times each of them began.
 * A status began between two reads, so whatever a read may have missed proves nothing.
 */
import * as verify from '../verify.ts';
import { bodyOf, type Exchange, isAccepted, isRead, isSend, messageIdOf } from './exchange.ts';
import { slackOf, type Trace } from './judge.ts';
import { holdEndOf } from './validity.ts';

/** The statuses of a message that does not fail. */
export const statusOrder = ['queued', 'sending', 'sent', 'delivered'];
export const finalStatuses = ['delivered', 'failed'];
export const pickedUpStatuses = ['sending', 'sent', 'delivered', 'failed'];

interface Sighting {
  readonly status: string;
  /** The status began after this time: when the last read of the status before was sent. */
  readonly after: number;
  /** The status began before this time: when the first read that shows it was answered. */
  readonly until: number;
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

export function historiesIn(trace: Pick<Trace, 'exchanges' | 'recorded'>): History[] {
  const { exchanges, recorded } = trace;
  const slackMs = slackOf(trace);
  const readsOf = new Map<string, Exchange[]>();
  for (const exchange of exchanges)
    if (isRead(exchange) && exchange.reply.status === 200 && exchange.id !== undefined)
      readsOf.set(exchange.id, [...(readsOf.get(exchange.id) ?? []), exchange]);
  const accepted = exchanges.filter((exchange) => isSend(exchange) && isAccepted(exchange));
  const sent = new Set(accepted.map(messageIdOf));
  const firstReads = [...readsOf].flatMap(([id, [first]]) =>
    recorded === undefined || sent.has(id) || first === undefined ? [] : [first],
  );
  return [...accepted, ...firstReads].flatMap((start) => {
    const messageId = isRead(start) ? (start.id ?? '') : messageIdOf(start);
    const reads = readsOf.get(messageId);
    return reads === undefined
      ? []
      : [{ start, messageId, reads, sightings: sightingsIn(start, reads, slackMs) }];
  });
}

function sightingsIn(start: Exchange, reads: readonly Exchange[], slackMs: number): Sighting[] {
  const { sentAt: after, answeredAt: until } = start;
  const firstStatus = isRead(start) ? statusOf(start) : 'queued';
  const sightings: Sighting[] = [{ status: firstStatus, after, until, exchange: start }];
  let lastReadAt = after;
  for (const exchange of reads) {
    const status = statusOf(exchange);
    const last = sightings.at(-1);
    // Of two reads at the same time, the later one may show the older status.
    const isOlder = rankOf(status) < rankOf(last?.status ?? '');
    const isOvertaken = isOlder && exchange.sentAt < (last?.exchange.answeredAt ?? 0) + slackMs;
    if (status !== last?.status && !isOvertaken && !isHeldName(status))
      sightings.push({ status, after: lastReadAt, until: exchange.answeredAt, exchange });
    lastReadAt = exchange.sentAt;
  }
  return sightings;
}

/** The service may name the status of a held message itself (`heldStatus`). */
function isHeldName(status: string): boolean {
  return rankOf(status) < 0;
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

/** When a message may be picked up: at once, or when its hold ends. */
export function dueAt({ start }: History): number {
  return Math.max(start.answeredAt, holdEndOf(start) ?? 0);
}

/** The first status after queued. */
export function pickupOf({ sightings }: History): Sighting | undefined {
  return sightings.find(({ status }) => pickedUpStatuses.includes(status));
}

/** The last time at which a message was certainly still queued. */
export function lastQueuedAt(history: History): number {
  const { reads, start } = history;
  return pickupOf(history)?.after ?? reads.at(-1)?.sentAt ?? start.sentAt;
}

/** A change of a status. */
export interface Step {
  readonly from: Sighting;
  readonly to: Sighting;
  readonly history: History;
}

export function stepsOf(histories: readonly History[]): Step[] {
  return histories.flatMap((history) =>
    history.sightings.slice(1).map((to, i) => ({ from: history.sightings[i] ?? to, to, history })),
  );
}
