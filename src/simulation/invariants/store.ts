/**
 * Checks the store of messages: its counts against a recount of all messages, and the tables that
 * find them. A "use" is the first send with a `request_id`. An accepted message is its own use: the
 * table of handles finds it. The replay window (`account.replays`) stores only the others, such as
 * refusals. A handle is chunk and row; a packed chunk stores the row at another *place*.
 * Rules: STATE-1, SEND-4, RES-6. Assumes: quotaUnit, quotaMonth, quotaRefund.
 */
import { replayWindowMs } from '#contract/limits.ts';
import type { Status } from '#contract/message-status.ts';
import { dayMs } from '#contract/time.ts';
import type { Account, Device, FirstUse } from '../../sim/accounts/account.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { unitsOf } from '../../sim/sends/quota.ts';
import { rowOf } from '../../sim/store/message-rows.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';
import { isFinal } from './messages.ts';

/** The numbers of one account, counted anew from its messages, without forgotten ones. */
export interface Recount {
  readonly counts: Record<Status, number>;
  /** Units of the quota that are used in the present period. */
  quotaUnits: number;
}

export interface RecountedWorld {
  readonly accounts: ReadonlyMap<Account, Recount>;
  readonly messagesOf: ReadonlyMap<Device, number>;
  readonly unfinished: number;
}

export function recount({ world, clock }: Simulation): RecountedWorld {
  const accounts = new Map<Account, Recount>();
  const messagesOf = new Map<Device, number>();
  let unfinished = 0;
  const { quotaUnit, quotaMonth, quotaRefund } = world.assumptions;
  const startMs = periodStart(clock.now(), quotaMonth);
  for (const message of world.messages.values()) {
    const { account, device, status, createdAtMs } = message;
    const ofAccount = accounts.get(account) ?? noMessages();
    accounts.set(account, ofAccount);
    ofAccount.counts[status]++;
    messagesOf.set(device, (messagesOf.get(device) ?? 0) + 1);
    if (!isFinal(status)) unfinished++;
    if (createdAtMs < startMs || (quotaRefund === 'yes' && status === 'failed')) continue;
    ofAccount.quotaUnits += unitsOf(message.text, quotaUnit);
  }
  return { accounts, messagesOf, unfinished };
}

export function noMessages(): Recount {
  return { counts: { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 }, quotaUnits: 0 };
}

/** The first millisecond of the present period of the quota. */
function periodStart(nowMs: number, quotaMonth: Assumptions['quotaMonth']): number {
  if (quotaMonth === 'rolling_30_days') return nowMs - 30 * dayMs + 1;
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}

export function checkStore(
  { world }: Simulation,
  recounted: RecountedWorld,
  found: Findings,
): void {
  const { messages } = world;
  let counted = 0;
  for (const chunk of messages.rows.chunks) {
    let rows = 0;
    for (const _ of chunk.rowsFrom(0)) rows++;
    if (rows !== chunk.size)
      found.report('STATE-1', `chunk ${chunk.number} counts ${chunk.size} messages, not ${rows}`);
    counted += rows;
  }
  if (counted !== messages.size)
    found.report('STATE-1', `the world counts ${messages.size} messages, not ${counted}`);
  const { unfinished } = messages;
  if (unfinished !== recounted.unfinished)
    found.report(
      'STATE-1',
      `the world counts ${unfinished} unfinished, not ${recounted.unfinished}`,
    );
  checkUses(messages.rows, found);
  const devices = new Set<Device>([...world.devices.values(), ...recounted.messagesOf.keys()]);
  for (const device of devices) {
    const count = recounted.messagesOf.get(device) ?? 0;
    if (count === device.messagesHeld) continue;
    found.report('RES-6', `SIM ${device.number} has ${device.messagesHeld} messages, not ${count}`);
  }
}

/** Every entry must lead to a message that has a `request_id`, and no two to the same one. */
function checkUses(rows: Simulation['world']['messages']['rows'], found: Findings): void {
  const seen = new Set<number>();
  for (const handle of rows.useHandles) {
    const chunk = rows.chunkOf(handle);
    const row = rowOf(handle);
    if (seen.has(handle))
      found.report('SEND-4', `the use of request_id at ${handle} is listed twice`);
    seen.add(handle);
    if (!chunk.hasMessage(row) || !chunk.columns.hasRequestId(chunk.placeOf(row)))
      found.report('SEND-4', `the use of request_id at ${handle} leads to no message`);
  }
}

/**
 * The narrowest replay scope: only a send with the same key and endpoint counts as a repeat, and
 * only of an accepted message.
 */
const narrowestScope = {
  replayScope: 'api_key',
  replayAcrossEndpoints: 'separate',
  failedRequestId: 'free',
} as const;

/** Repeating the send of a recent message with a `request_id` must find that message. */
export function checkAcceptedUses({ world, clock }: Simulation, found: Findings): void {
  const oldestMs = clock.now() - replayWindowMs;
  for (const message of world.messages.values()) {
    const { requestId, createdAtMs, account, key, endpoint, messageId } = message;
    if (requestId === '' || createdAtMs < oldestMs) continue;
    found.checked.replays++;
    const use = key && account.replays.find(requestId, key, endpoint, narrowestScope);
    if (use === undefined) {
      found.report('SEND-4', `message ${messageId} has a request_id that is missing in the window`);
    } else if ('messageId' in use.outcome && use.outcome.messageId !== messageId) {
      found.report('SEND-4', `request_id ${requestId} created two messages`);
    }
  }
}

/** Checks the uses that the window stores itself, such as refusals. */
export function checkStoredUses({ clock }: Simulation, account: Account, found: Findings): void {
  const oldestMs = clock.now() - replayWindowMs;
  let count = 0;
  for (const newest of account.replays.entries()) {
    count++;
    if (newest.atMs < oldestMs) {
      const { requestId } = newest;
      found.report('SEND-4', `request_id ${requestId} of ${account.name} is kept beyond 24 h`);
    }
    checkChain(account, newest, clock.now(), found);
  }
  found.checked.replays += count;
  if (count > account.replays.size)
    found.report('SEND-4', `the replay window of ${account.name} holds more than its size`);
}

/** Checks the uses of one id, newest first: no use may be younger than the one before it. */
function checkChain(account: Account, newest: FirstUse, nowMs: number, found: Findings): void {
  let youngerMs = nowMs;
  for (let use: FirstUse | undefined = newest; use !== undefined; use = use.older) {
    const { key, atMs, requestId } = use;
    if (atMs > youngerMs || requestId !== newest.requestId || key.account !== account)
      found.report('SEND-4', `the uses of request_id ${requestId} contradict each other`);
    youngerMs = atMs;
  }
}
