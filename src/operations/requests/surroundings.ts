/**
 * What surrounds one of the last requests: its neighbours, the send that repeated it after a
 * failure, or that it repeats itself, and why it was refused.
 */

import { z } from 'zod';
import { faultSubject, faultText } from '#contract/fault-kinds.ts';
import { type LimitsPerMinute, limitWindowMs } from '#contract/limits.ts';
import { durationText, isoTime } from '#contract/time.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { keyPrefix, shownPrefix } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { RunningWorld } from '../running-world.ts';
import { faultOf, fieldOf } from './request-views.ts';

const nearSchema = z
  .strictObject({ number: z.int().min(1), status: z.int(), is_lost: z.boolean() })
  .meta({ id: 'NearRequest' })
  .nullable();

/** Another send of the same recipient and text. */
export const sameSendSchema = z
  .strictObject({ number: z.int().nullable(), sentence: z.string() })
  .meta({ id: 'SameSend' })
  .nullable();

export const surroundingFields = {
  previous: nearSchema.describe('The request before it; null: not kept.'),
  next: nearSchema.describe('The request after it.'),
  afterwards: sameSendSchema.describe(
    'After a fault, a lost reply, a 429 or a 5xx: the next send of the account with this recipient and text.',
  ),
  why: z
    .string()
    .nullable()
    .describe(
      'For a fault: what it did, and on which requests. For a 429: how many requests had spent a token, and since when. For a 401: what is wrong with its key.',
    ),
};

export function surroundingsOf(
  { exchangeRecord, simulation: { faults, limiter, world } }: RunningWorld,
  exchange: RecordedExchange,
) {
  const { number } = exchange;
  const newestFirst = [...exchangeRecord.newest()];
  const isRepeated = hasFailed(exchange) && recipientOf(exchange) !== null;
  return {
    previous: nearOf(exchangeRecord.get(number - 1)),
    next: nearOf(exchangeRecord.get(number + 1)),
    afterwards: isRepeated ? afterwardsOf(exchange, newestFirst) : null,
    why:
      throttleReason(exchange, newestFirst, limiter.limits) ??
      faultReason(exchange, faults.list, world) ??
      keyProblem(exchange, world),
  };
}

/** Which requests had spent the tokens, for a 429 that no fault forced. */
function throttleReason(
  { number, atMs, status, endpoint, accountId, accountName, faultKind }: RecordedExchange,
  newestFirst: readonly RecordedExchange[],
  limits: LimitsPerMinute,
): string | null {
  if (status !== 429 || faultKind !== undefined) return null;
  if (endpoint === undefined || accountId === undefined) return null;
  const spending = newestFirst.filter(
    (other) =>
      other.hasSpent &&
      other.number < number &&
      other.endpoint === endpoint &&
      other.accountId === accountId &&
      other.atMs > atMs - limitWindowMs,
  );
  const first = spending.at(-1);
  if (first === undefined) return null;
  const since = isoTime(first.atMs).slice(11, 19);
  return `${endpoint} of ${accountName}: ${spending.length} of ${limits[endpoint]} passed since ${since}`;
}

/** The next send of the same account, recipient and text. */
function afterwardsOf(exchange: RecordedExchange, newestFirst: readonly RecordedExchange[]) {
  const isSame = sameSendAs(exchange);
  const again = newestFirst.findLast((other) => other.number > exchange.number && isSame(other));
  if (again === undefined) return { number: null, sentence: 'no further request for this' };
  const { number, atMs, status, body } = again;
  const id = fieldOf(body, 'request_id');
  const idBefore = fieldOf(exchange.body, 'request_id');
  let idText = id === idBefore ? 'same request_id' : `new ${idTextOf(id)}`;
  if (id === null) idText = idBefore === null ? `both ${idTextOf(id)}` : idTextOf(id);
  const sentence = `${durationText(atMs - exchange.atMs)} later: same recipient and text, ${idText}: ${status}`;
  return { number, sentence };
}

/** The send before it of the same account, recipient and text, if that one failed. */
export function sendBefore(
  { exchangeRecord }: RunningWorld,
  exchange: RecordedExchange | undefined,
) {
  if (exchange === undefined || recipientOf(exchange) === null) return null;
  const isSame = sameSendAs(exchange);
  const kept = [...exchangeRecord.newest()];
  const before = kept.find((other) => other.number < exchange.number && isSame(other));
  if (before === undefined || !hasFailed(before)) return null;
  const { number, atMs, status, body } = before;
  const ending = before.isLost ? 'its reply was lost' : `it was answered ${status}`;
  const idText = idTextOf(fieldOf(body, 'request_id'));
  const sentence = `${durationText(exchange.atMs - atMs)} earlier, same recipient and text, ${idText}, ${ending}`;
  return { number, sentence };
}

const idTextOf = (id: string | null) => (id === null ? 'without a request_id' : `request_id ${id}`);

const recipientOf = ({ body }: RecordedExchange) => fieldOf(body, 'to');

/** True if the client has to repeat the request. */
function hasFailed({ faultKind, isLost, status }: RecordedExchange): boolean {
  return faultKind !== undefined || isLost || status === 429 || status >= 500;
}

function sameSendAs(exchange: RecordedExchange): (other: RecordedExchange) => boolean {
  const to = recipientOf(exchange);
  const text = fieldOf(exchange.body, 'message');
  return ({ accountId, body }) =>
    accountId === exchange.accountId &&
    fieldOf(body, 'to') === to &&
    fieldOf(body, 'message') === text;
}

/** What an injected fault did, and on which requests, if the fault is still there. */
function faultReason(
  exchange: RecordedExchange,
  faults: RunningWorld['simulation']['faults']['list'],
  { accounts }: Registry,
): string | null {
  const struck = faultOf(exchange);
  if (struck === null) return null;
  const spec = faults.find(({ faultId }) => faultId === exchange.faultId)?.spec;
  if (spec === undefined) return faultText(struck);
  const nameOf = (id: string) => accounts.get(id)?.name ?? id;
  return `${faultText(struck)} on ${faultSubject({ ...spec, hits: 0, seen: 0 }, nameOf)}`;
}

/** Why the key of a 401 was refused. */
function keyProblem(
  { status, authorization, faultKind }: RecordedExchange,
  { keyRing, keys }: Registry,
): string | null {
  if (status !== 401 || faultKind !== undefined) return null;
  if (authorization === undefined) return 'no key: it has no Authorization header';
  const text = authorization.replace(/^bearer\s+/i, '');
  const key = keyRing.find(text);
  const start = shownPrefix(text);
  if (key === undefined) {
    const [alike, ...others] = [...keys.values()].filter((each) => keyPrefix(each) === start);
    const isOne = alike !== undefined && others.length === 0;
    const like = isOne ? `, which begins like ${alike.account.name}'s key ${alike.name}` : '';
    return start === '' ? 'unknown key' : `unknown key ${start}…${like}`;
  }
  return key.revokedAtMs === undefined
    ? 'the Authorization header is malformed'
    : `revoked key of ${key.account.name}`;
}

function nearOf(exchange: RecordedExchange | undefined): z.output<typeof nearSchema> {
  if (exchange === undefined) return null;
  const { number, status, isLost } = exchange;
  return { number, status, is_lost: isLost };
}
