/**
 * Single requests to a running service or its control port, bounded in time and size: it may answer
 * anything.
 */
import { Client } from '../../conformance/client.ts';
import { Masks } from '../../conformance/exchange.ts';

export const patienceMs = 10_000;

export function boundedClient({ origin }: URL, maxBodyBytes?: number): Client {
  const bound = maxBodyBytes === undefined ? {} : { maxBodyBytes };
  const masks = new Masks();
  return new Client({ baseUrl: origin, timeoutMs: patienceMs, masks, retries: false, ...bound });
}
