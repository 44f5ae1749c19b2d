/**
 * Which replies an assumption may change, by its row in `docs/rules.md`: given two replies to the
 * same request under two answers, a function decides whether the row covers their difference. Only
 * the first difference of two runs is checked; later ones are its consequences.
 */
import type { TraceLine } from '../session.ts';

export type Reach = (a: TraceLine, b: TraceLine) => boolean;

export const isSend = (line: TraceLine) => line.request.path.endsWith('/send/');
export const isRead = (line: TraceLine) => /^\/api\/v1\/sms\/[^/]+\/$/.test(line.request.path);
export const isReceived = (line: TraceLine) => line.request.path === '/api/v1/sms/received/';
export const isTasks = (line: TraceLine) => line.request.path.endsWith('/tasks/');
export const isStats = (line: TraceLine) => line.request.path === '/api/v1/account/stats/';
export const isStranger = (line: TraceLine) => line.who === -1;

export function bodyOf(line: TraceLine): Readonly<Record<string, unknown>> {
  try {
    const text = Buffer.from(line.request.body).toString();
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** One of the two replies has the status. */
export function one(status: number): Reach {
  return (a, b) => a.reply.status === status || b.reply.status === status;
}

/** The two replies have these two statuses, in either order. */
export function either(x: number, y: number): Reach {
  return (a, b) =>
    `${a.reply.status} ${b.reply.status}` === `${x} ${y}` ||
    `${a.reply.status} ${b.reply.status}` === `${y} ${x}`;
}

export function both(...conditions: readonly Reach[]): Reach {
  return (a, b) => conditions.every((each) => each(a, b));
}

export function any(...conditions: readonly Reach[]): Reach {
  return (a, b) => conditions.some((each) => each(a, b));
}

export const throttled = one(429);
export const invalid: Reach = both(isSend, one(400));
export const names =
  (field: string): Reach =>
  (a) =>
    isSend(a) && Object.hasOwn(bodyOf(a), field);
export const namesRequestId: Reach = (a) =>
  isSend(a) && typeof bodyOf(a)['request_id'] === 'string';
/** Progress of messages: shown by reads, counted by stats, and refunded to the quota. */
export const showsProgress: Reach = any(isRead, isStats, isTasks, both(isSend, one(402)));
export const quota: Reach = any(isStats, both(isSend, one(402)));
