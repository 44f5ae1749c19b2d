/**
 * The operation that sends a request to the service with a key of an account, as a client would: it
 * spends tokens and quota, and faults apply to it. Its result is the *exchange*: the request without
 * its key, and the whole reply, even if a fault cuts it. Rules: AUTH-1, AUTH-2.
 */
import { z } from 'zod';
import { servicePaths } from '#contract/routes.ts';
import { type ApiKey, keyPrefix } from '../../sim/accounts/account.ts';
import { conflict, OperationRefused } from '../../sim/errors.ts';
import { defineOperation } from '../define.ts';
import { detailOf, exchangeViewSchema } from './request-views.ts';

const exchangeInputSchema = z.strictObject({
  method: z.enum(['GET', 'POST']),
  path: z
    .string()
    .regex(/^\/[^?#\s]*$/, { error: 'expected a path without a query' })
    .max(2_000),
  query: z.string().max(2_000).default('').describe('Without the question mark.'),
  body: z
    .string({
      error: 'expected the body as a text, JSON in quotes such as "{\\"to\\":\\"+1...\\"}"',
    })
    .max(65_536)
    .default('')
    .describe('The text to send, usually JSON.'),
  key_id: z.uuid().exactOptional().describe('Default: the first key that is not revoked.'),
});
export const exchanges = {
  perform: defineOperation({
    http: 'POST /control/accounts/{account_id}/requests',
    summary:
      'Sends a request to the service with a key of the account, and returns the exchange without the key.',
    input: exchangeInputSchema,
    output: exchangeViewSchema,
    bodyLimitBytes: 1_048_576,
    refusals: [409],
    // The journal records the request that it makes.
    recorded: false,
    examples: [
      { method: 'GET', path: servicePaths.stats },
      {
        method: 'POST',
        path: servicePaths.send,
        body: '{"to":"+12025550123","from":"+12025550101","message":"Hello"}',
      },
    ],
    run: (live, account, { method, path, query, body, key_id: keyId }) => {
      const key = chooseKey(account.keys, keyId);
      const contentType = body === '' ? undefined : 'application/json';
      const { body: answer } = live.handle({
        method,
        path,
        query,
        authorization: `Bearer ${key.key}`,
        contentType,
        clientIp: '127.0.0.1',
        forwardedFor: undefined,
        body,
      });
      const [exchange] = live.exchangeRecord.newest();
      if (exchange === undefined) throw new Error('the record has the request just answered');
      const { request, reply, fault } = detailOf(exchange);
      // The record does not show the prefix of a revoked key, and leaves out long bodies.
      const headers = { ...request.headers, authorization: `Bearer ${keyPrefix(key)}…` };
      return { request: { ...request, headers, body }, reply: { ...reply, body: answer }, fault };
    },
  }),
};

/** The key with this id, or the first usable one. A restored key has no text, only a digest. */
function chooseKey(keys: readonly ApiKey[], keyId: string | undefined): ApiKey {
  if (keyId === undefined) {
    const usable = keys.find(({ key, revokedAtMs }) => key !== '' && revokedAtMs === undefined);
    if (usable !== undefined) return usable;
    throw conflict('the account has no key to send with; create one');
  }
  const chosen = keys.find((key) => key.keyId === keyId);
  if (chosen === undefined)
    throw new OperationRefused('not_found', `the account has no key ${keyId}`);
  if (chosen.key !== '') return chosen;
  throw conflict('the full text of this key is no longer known; create another key');
}
