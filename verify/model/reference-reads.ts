/**
 * The four GETs of the reference model: a message, the statistics, received messages, and the tasks
 * of a device.
 * Rules: READ-1, READ-2, STATE-2. Assumes: pathIdForm, heldStatus, messageRetention, receivedQuery,
 * receivedShape, tasksShape.
 */
import { dayMs } from '#contract/time.ts';
import type { Assumptions } from './answers.ts';
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
  const parameters = pageParameters(query, assumptions);
  if ('status' in parameters) return parameters;
  const { page: pageNumber, pageSize } = parameters;
  const all = world.received.filter((each) => each.accountId === key.accountId).reverse();
  const results = all.slice((pageNumber - 1) * pageSize, pageNumber * pageSize).map((each) => ({
    message_id: each.messageId,
    device_id: each.deviceId,
    from_number: each.from,
    to: each.to,
    message: each.message,
    received_at: new Date(each.receivedAtMs).toISOString(),
  }));
  if (results.length === 0 && pageNumber > 1) return notFound(assumptions);
  const linkTo = (other: number) => `/api/v1/sms/received/?page=${other}&page_size=${pageSize}`;
  const body = {
    count: all.length,
    next: pageNumber * pageSize < all.length ? linkTo(pageNumber + 1) : null,
    previous: pageNumber > 1 ? linkTo(pageNumber - 1) : null,
    results,
  };
  return { ...ok(assumptions.receivedShape === 'array' ? results : body), page: body };
}

/** The page that a query asks for, or the reply if the query is invalid (`receivedQuery`). */
function pageParameters(
  query: string,
  assumptions: Assumptions,
): { page: number; pageSize: number } | Expected {
  const { receivedQuery } = assumptions;
  const parameters = new URLSearchParams(receivedQuery === 'ignore' ? '' : query);
  const page = countIn(parameters.get('page') ?? '1');
  const pageSize = countIn(parameters.get('page_size') ?? '50', 200);
  // `not_found` is about pages only: an invalid size means the default.
  if (receivedQuery === 'not_found')
    return page === undefined ? notFound(assumptions) : { page, pageSize: pageSize ?? 50 };
  if (page !== undefined && pageSize !== undefined) return { page, pageSize };
  const parsed = Object.entries({ page, page_size: pageSize });
  return invalid(
    assumptions,
    parsed.flatMap(([name, value]) => (value === undefined ? name : [])),
  );
}

/** A whole number from 1 to `max`; undefined for another text. */
function countIn(text: string, max = Number.MAX_SAFE_INTEGER): number | undefined {
  const count = /^[0-9]+$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= max ? count : undefined;
}

export function tasks(world: ReferenceWorld, pathId: string, key: ReferenceKey): Expected {
  const { assumptions } = world;
  const deviceId = idOf(pathId, assumptions);
  const sim = world.sims.find((each) => each.deviceId === deviceId);
  if (sim === undefined || sim.accountId !== key.accountId) return notFound(assumptions);
  const mayPoll = sim.polling === 'external' && sim.connected && sim.active;
  const pickedUp = mayPoll ? poll(sim, 'requested', world) : [];
  const entries = pickedUp.map((message) => ({
    message_id: message.messageId,
    to: message.to,
    from_number: message.from,
    message: message.text,
  }));
  return ok(assumptions.tasksShape === 'array' ? entries : { tasks: entries });
}

/**
 * The usual spelling of the id in a path. With `any_case` it may be in upper case, with `any` also
 * without all hyphens. A text that is not permitted is returned unchanged, so it finds nothing.
 */
function idOf(text: string, { pathIdForm }: Assumptions): string {
  const lowerCase = text.toLowerCase();
  const digits = lowerCase.replaceAll('-', '');
  const canonical = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const isPermitted = lowerCase === canonical || (lowerCase === digits && pathIdForm === 'any');
  return pathIdForm !== 'canonical' && isPermitted ? canonical : text;
}
