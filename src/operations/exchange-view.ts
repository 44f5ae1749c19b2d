/**
 * A request to the service and its reply, as the control port shows them: without the key.
 */
import { z } from 'zod';
import type { RecordedExchange } from '../recording/recorded-exchange.ts';

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
        status: z.int().nullable().describe('Of a reply that the fault made itself.'),
        delay_ms: z.int().nullable(),
        cut: z.enum(['close', 'truncate', 'reset', 'hang']).nullable(),
      })
      .meta({ id: 'ExchangeFault' })
      .nullable()
      .describe('How an injected fault changed the reply or its delivery.'),
  })
  .meta({ id: 'Exchange' });
export type ExchangeView = Readonly<z.output<typeof exchangeViewSchema>>;

interface Struck {
  readonly status: number;
  readonly delivery?: RecordedExchange['delivery'];
  readonly isForced: boolean;
}

export function faultOf({ delivery, isForced, status }: Struck): ExchangeView['fault'] {
  if (delivery === undefined && !isForced) return null;
  const { delayMs = null, cut = null } = delivery ?? {};
  return { status: isForced ? status : null, delay_ms: delayMs, cut };
}
