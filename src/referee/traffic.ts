/**
 * Parsing that both feeds share: JSON objects, endpoints and waits.
 */
import { matchRoute } from '../http/service/routes.ts';
import type { EndpointName } from '../sim/limits.ts';
import type { Exchange } from './exchange.ts';

/** Parses a JSON object; undefined for any other text. */
export function objectIn(text: string): Exchange['body'] {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Exchange['body']) : undefined;
  } catch {
    return undefined;
  }
}

export function endpointOf(path: string): EndpointName | undefined {
  return matchRoute(path)?.route.endpoint;
}

/** The statuses whose `Retry-After` binds the client (CLIENT-1, CLIENT-17). */
export function asksForWait(status: number): boolean {
  return status === 429 || status === 503;
}

/** `Retry-After` in whole seconds, as milliseconds of the service's clock. */
export function waitMs(header: string | undefined, rate: number): number | undefined {
  const seconds = header === undefined ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 * rate : undefined;
}

/** A reply that a fault garbled: the beginning of a JSON text, or no JSON where all went well. */
export function isGarbled(status: number, text: string): boolean {
  const isOk = status >= 200 && status < 300;
  if (text === '' || (!isOk && !/^\s*[{[]/.test(text))) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
