/**
 * What surrounds one of the last requests: its neighbours, the send that repeated it after a fault,
 * and what had spent the limit that refused it.
 */
import { z } from 'zod';
import { limitWindowMs } from '#contract/limits.ts';
import { isoTime } from '#contract/time.ts';
import { spanText } from '#judging/client/record.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import type { RunningWorld } from '../running-world.ts';
import { fieldOf } from './request-views.ts';

const nearSchema = z
  .strictObject({ number: z.int().min(1), status: z.int() })
  .meta({ id: 'NearRequest' })
  .nullable();

export const surroundings = {
  previous: nearSchema.describe('The request before it; null: not kept.'),
  next: nearSchema.describe('The request after it.'),
  afterwards: z
    .strictObject({ number: z.int().nullable(), sentence: z.string() })
    .meta({ id: 'Afterwards' })
    .nullable()
    .describe(
      'After a fault or a lost reply: the next send of the account with this recipient and text.',
    ),
  why: z
    .string()
    .nullable()
    .describe('Of a 429: how many requests had spent a token, and since when.'),
};

export function surroundingsOf(
  { exchangeRecord, simulation: { limiter } }: RunningWorld,
  exchange: RecordedExchange,
) {
  const { number, atMs, status, endpoint, accountId, accountName, faultKind } = exchange;
  const all = [...exchangeRecord.newest()];
  const [to, text] = ['to', 'message'].map((name) => fieldOf(exchange.body, name));
  const isSentAgain = (other: RecordedExchange) =>
    other.number > number &&
    other.accountId === accountId &&
    fieldOf(other.body, 'to') === to &&
    fieldOf(other.body, 'message') === text;
  const wasStruck = (faultKind !== undefined || exchange.isLost) && to !== null;
  const isThrottled = status === 429 && faultKind === undefined && accountId !== undefined;
  const spending = all.filter(
    (other) =>
      isThrottled &&
      other.hasSpent &&
      other.number < number &&
      other.endpoint === endpoint &&
      other.accountId === accountId &&
      other.atMs > atMs - limitWindowMs,
  );
  const first = spending.at(-1);
  const limit = endpoint && limiter.limits[endpoint];
  return {
    previous: nearOf(exchangeRecord.get(number - 1)),
    next: nearOf(exchangeRecord.get(number + 1)),
    afterwards: wasStruck ? afterwardsOf(exchange, all.findLast(isSentAgain)) : null,
    why:
      first === undefined
        ? null
        : `${endpoint} of ${accountName}: ${spending.length} of ${limit} passed since ${isoTime(first.atMs).slice(11, 19)}`,
  };
}

/** `again`: the next send of the same. */
function afterwardsOf(exchange: RecordedExchange, again: RecordedExchange | undefined) {
  if (again === undefined) return { number: null, sentence: 'no further request for this' };
  const { number, atMs, status, body } = again;
  const id = fieldOf(body, 'request_id');
  const isSameId = id === fieldOf(exchange.body, 'request_id');
  const idText = isSameId ? 'same request_id' : `new request_id ${id ?? '(none)'}`;
  const sentence = `${spanText(atMs - exchange.atMs)} later: same recipient and text, ${idText}: ${status}`;
  return { number, sentence };
}

function nearOf(exchange: RecordedExchange | undefined): z.output<typeof nearSchema> {
  return exchange === undefined ? null : { number: exchange.number, status: exchange.status };
}
