/**
 * The four reads: a message, the statistics, received messages, the tasks of a device.
 * Rules: READ-1, READ-2, STATE-2. Assumes: pathIdForm, heldStatus, messageRetention, receivedQuery,
 * receivedShape, tasksShape.
 */
import { dayMs } from '../../src/ledger/time-units.ts';
import type { Assumptions } from './assumptions.ts';
import { lastChange, poll, type ReferenceMessage } from './reference-phone.ts';
import { type Expected, invalid, notFound, ok } from './reference-replies.ts';
import type { ReferenceKey, ReferenceWorld } from './reference-world.ts';

export function read(world: ReferenceWorld, pathId: string, key: ReferenceKey): Expected {
  const { assumptions, nowMs } = world;
  const messageId = idOf(pathId, assumptions);
  const message = world.messages.find(
    (each) => each.messageId === messageId && each.accountId === key.accountId,
  );
  if (message === undefined || isPastRetention(message, world)) return notFound(assumptions);
  const isHeld = message.status === 'queued' && nowMs < message.dueAtMs;
  return ok({
    status: isHeld && assumptions.heldStatus === 'scheduled' ? 'scheduled' : message.status,
    message_id: message.messageId,
    request_id: message.requestId,
    device_id: message.deviceId,
    from_number: message.from,
    to: message.to,
    created_at: new Date(message.createdAtMs).toISOString(),
  });
}

function isPastRetention(message: ReferenceMessage, { nowMs, assumptions }: ReferenceWorld) {
  const { messageRetention: days } = assumptions;
  const isFinal = message.status === 'delivered' || message.status === 'failed';
  return isFinal && days !== 'forever' && nowMs - lastChange(message) > days * dayMs;
}

export function stats(world: ReferenceWorld, { accountId }: ReferenceKey): Expected {
  const counts = { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 };
  for (const message of world.messages)
    if (message.accountId === accountId) counts[message.status] += 1;
  return ok({
    messages: counts,
    quota: { used: world.quotaUsed(accountId), limit: world.quotaOf(accountId) },
    sims_connected: world.connectedSims(accountId).length,
    received: world.received.filter((each) => each.accountId === accountId).length,
  });
}

export function received(world: ReferenceWorld, query: string, key: ReferenceKey): Expected {
  const { assumptions } = world;
  const { receivedQuery } = assumptions;
  const asked = new URLSearchParams(receivedQuery === 'ignore' ? '' : query);
  const page = asked.get('page') ?? '1';
  let pageSize = asked.get('page_size') ?? '50';
  const isCount = (text: string) =>
    /^[0-9]+$/.test(text) && Number(text) >= 1 && Number.isSafeInteger(Number(text));
  const failing: string[] = [];
  if (!isCount(page)) failing.push('page');
  const isSize = isCount(pageSize) && Number(pageSize) <= 200;
  if (receivedQuery === 'not_found') {
    if (failing.length > 0) return notFound(assumptions);
    if (!isSize) pageSize = '50';
  } else if (!isSize) failing.push('page_size');
  if (failing.length > 0) return invalid(assumptions, failing);

  const all = world.received.filter((each) => each.accountId === key.accountId).reverse();
  const [n, size] = [Number(page), Number(pageSize)];
  const results = all.slice((n - 1) * size, n * size).map((each) => ({
    message_id: each.messageId,
    device_id: each.deviceId,
    from_number: each.from,
    to: each.to,
    message: each.message,
    received_at: new Date(each.receivedAtMs).toISOString(),
  }));
  if (results.length === 0 && n > 1) return notFound(assumptions);
  const link = (to: number) => `/api/v1/sms/received/?page=${to}&page_size=${size}`;
  const onePage = {
    count: all.length,
    next: n * size < all.length ? link(n + 1) : null,
    previous: n > 1 ? link(n - 1) : null,
    results,
  };
  return { ...ok(assumptions.receivedShape === 'array' ? results : onePage), page: onePage };
}

export function tasks(world: ReferenceWorld, pathId: string, key: ReferenceKey): Expected {
  const { assumptions, messages, nowMs } = world;
  const deviceId = idOf(pathId, assumptions);
  const sim = world.sims.find((each) => each.deviceId === deviceId);
  if (sim === undefined || sim.accountId !== key.accountId) return notFound(assumptions);
  const isAtWork = sim.polling === 'external' && sim.connected && sim.active;
  const taken = isAtWork ? poll(sim, messages, nowMs, assumptions, 'asked') : [];
  const entries = taken.map((message) => ({
    message_id: message.messageId,
    to: message.to,
    from_number: message.from,
    message: message.text,
  }));
  return ok(assumptions.tasksShape === 'array' ? entries : { tasks: entries });
}

/** The id in a path, if other spellings are accepted. */
function idOf(text: string, { pathIdForm }: Assumptions): string {
  const bare = text.toLowerCase();
  const digits = bare.replaceAll('-', '');
  const ours = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const isSpelling = bare === ours || (bare === digits && pathIdForm === 'any');
  return pathIdForm !== 'canonical' && isSpelling ? ours : text;
}
