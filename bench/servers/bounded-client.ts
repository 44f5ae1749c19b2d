/**
 * Single requests to a running service, bounded in time and size: it may answer anything.
 */
import { Client } from '../../conformance/client.ts';
import { Masks } from '../../conformance/exchange.ts';

export const patienceMs = 10_000;

export function boundedClient(baseUrl: URL): Client {
  const { origin } = baseUrl;
  return new Client({ baseUrl: origin, timeoutMs: patienceMs, masks: new Masks(), retries: false });
}
