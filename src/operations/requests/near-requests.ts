/**
 * What surrounds one of the last requests: its neighbours, the send that repeated it after a fault,
 * and what had spent the limit that refused it.
 */
import { z } from 'zod';
import { limitWindowMs } from '#contract/limits.ts';
import { isoTime } from '#contract/time.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { timeSchema } from '../query.ts';
import type { RunningWorld } from '../running-world.ts';
import { fieldOf } from './request-views.ts';

const nearSchema = z
  .strictObject({
    number: z.int().min(1),
    at: timeSchema,
    status: z.int(),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'NearRequest' })
  .nullable();

export const surroundings = {
  previous: nearSchema.describe('The request before it; null: not kept.'),
  next: nearSchema.describe('The request after it.'),
  sent_again: nearSchema.describe(
    'After a fault or a lost reply: the next send of the account with this recipient and text.',
  ),
  spent: z
    .strictObject({
      limit: z.int().nullable().describe('The limit in force.'),
      count: z.int(),
      since: timeSchema.describe('The time of the first of them.'),
    })
    .meta({ id: 'SpentLimit' })
    .nullable()
    .describe('Before a 429: the kept requests of 60 s that had spent a token.'),
};

export function surroundingsOf(
  { exchangeRecord, simulation: { limiter } }: RunningWorld,
  exchange: RecordedExchange,
) {
  const { number, atMs, status, endpoint, accountId, faultKind } = exchange;
  const isSameCaller = (other: RecordedExchange) =>
    other.endpoint === endpoint && other.accountId === accountId;
  const all = [...exchangeRecord.newest()];
  const earlier = all.filter((other) => other.number < number && isSameCaller(other));
  const isThrottled = status === 429 && faultKind === undefined && accountId !== undefined;
  const spending = isThrottled
    ? earlier.filter((other) => other.hasSpent && other.atMs > atMs - limitWindowMs)
    : [];
  const first = spending.at(-1);
  const [to, text] = ['to', 'message'].map((name) => fieldOf(exchange.body, name));
  const isSentAgain = (other: RecordedExchange) =>
    other.number > number &&
    other.accountId === accountId &&
    fieldOf(other.body, 'to') === to &&
    fieldOf(other.body, 'message') === text;
  const wasStruck = (faultKind !== undefined || exchange.isLost) && to !== null;
  return {
    previous: nearOf(exchangeRecord.get(number - 1)),
    next: nearOf(exchangeRecord.get(number + 1)),
    sent_again: nearOf(wasStruck ? all.findLast(isSentAgain) : undefined),
    spent:
      first === undefined || endpoint === undefined
        ? null
        : { limit: limiter.limits[endpoint], count: spending.length, since: isoTime(first.atMs) },
  };
}

function nearOf(exchange: RecordedExchange | undefined): z.output<typeof nearSchema> {
  if (exchange === undefined) return null;
  const { number, atMs, status, body } = exchange;
  return { number, at: isoTime(atMs), status, request_id: fieldOf(body, 'request_id') };
}
