/**
 * A request of the service made for an account, as its own client would make it, and all that went over the
 * wire but the key. Rules: AUTH-1, AUTH-2. It spends tokens and quota and meets faults like any other.
 */
import { z } from 'zod';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { type ApiKey, keyPrefix } from '../sim/account.ts';
import { LeverError } from '../sim/lever-error.ts';
import { findAccount } from './accounts.ts';
import { type ExchangeView, faultOf } from './exchange-view.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';

export const exchangeInputSchema = z.strictObject({
  method: z.enum(['GET', 'POST']),
  path: z
    .string()
    .regex(/^\/[^?#\s]*$/, { error: 'expected a path without a query' })
    .max(2_000),
  query: z.string().max(2_000).default('').describe('Without the question mark.'),
  body: z.string().max(65_536).default('').describe('The text that is sent, JSON as a rule.'),
  key_id: z.uuid().exactOptional().describe('Without it, the first key that is not revoked.'),
});
export type ExchangeInput = Readonly<z.input<typeof exchangeInputSchema>>;

export class ExchangeLevers {
  readonly #live: Live;
  readonly #handle: (request: ApiRequest) => ApiReply;

  constructor(live: Live, handle: (request: ApiRequest) => ApiReply) {
    this.#live = live;
    this.#handle = handle;
  }

  perform(accountId: string, input: ExchangeInput): ExchangeView {
    const { method, path, query, body, key_id: keyId } = readInput(exchangeInputSchema, input);
    const key = chooseKey(findAccount(this.#live, accountId).keys, keyId);
    const contentType = body === '' ? undefined : 'application/json';
    const reply = this.#handle({
      method,
      path,
      query,
      authorization: `Bearer ${key.key}`,
      contentType,
      clientIp: '127.0.0.1',
      forwardedFor: undefined,
      body,
    });
    return {
      request: {
        method,
        path: query === '' ? path : `${path}?${query}`,
        headers: {
          authorization: `Bearer ${keyPrefix(key)}…`,
          ...(contentType !== undefined && { 'content-type': contentType }),
        },
        body,
      },
      reply: {
        status: reply.status,
        headers: { 'content-type': 'application/json', ...reply.headers },
        body: reply.body,
      },
      fault: faultOf(reply.delivery),
    };
  }
}

/** A key of which only the digest is known, as after a restore, cannot be sent. */
function chooseKey(keys: readonly ApiKey[], keyId: string | undefined): ApiKey {
  const key =
    keyId === undefined
      ? keys.find(({ key: text, revokedAtMs }) => text !== '' && revokedAtMs === undefined)
      : keys.find((one) => one.keyId === keyId);
  if (key === undefined) {
    if (keyId !== undefined) throw new LeverError('not_found', `the account has no key ${keyId}`);
    throw new LeverError('conflict', 'the account has no key to send with; create one');
  }
  if (key.key === '') throw new LeverError('conflict', 'the text of this key is no longer known');
  return key;
}
