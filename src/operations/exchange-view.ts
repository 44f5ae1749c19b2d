/**
 * A request to the service and its reply, as the control port shows them: without the key.
 */
import { z } from 'zod';
import type { Delivery } from '../http/service/messages.ts';

const headersSchema = z.record(z.string(), z.string());

export const exchangeViewSchema = z
  .strictObject({
    request: z
      .strictObject({
        method: z.string(),
        path: z.string(),
        headers: headersSchema.describe('The key is shortened.'),
        body: z.string(),
      })
      .meta({ id: 'ExchangeRequest' }),
    reply: z
      .strictObject({ status: z.int(), headers: headersSchema, body: z.string() })
      .meta({ id: 'ExchangeReply' }),
    fault: z
      .strictObject({
        delay_ms: z.int().nullable(),
        cut: z.enum(['close', 'truncate', 'reset', 'hang']).nullable(),
      })
      .meta({ id: 'ExchangeFault' })
      .nullable()
      .describe('How an injected fault changed the delivery of the reply.'),
  })
  .meta({ id: 'Exchange' });
export type ExchangeView = Readonly<z.output<typeof exchangeViewSchema>>;

export function faultOf(delivery: Delivery | undefined): ExchangeView['fault'] {
  if (delivery === undefined) return null;
  return { delay_ms: delivery.delayMs ?? null, cut: delivery.cut ?? null };
}
