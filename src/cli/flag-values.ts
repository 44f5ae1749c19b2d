/**
 * What the values of flags may be: each reads one text, or says what it expected.
 */
import { isIPv4 } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { nearestName, parseAssumption } from '../config/assumption-text.ts';
import { startTimeSchema } from '../config/settings.ts';
import type { LimitOverrides } from '../config/world-schema.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import { endpointNames } from '../sim/limits.ts';

/** 0 stands for any free port. */
export function portValue(text: string): number {
  return wholeNumber(text, 65_535);
}

export function seedValue(text: string): number {
  return wholeNumber(text, 2 ** 32 - 1);
}

export function hostValue(text: string): string {
  if (/^[A-Za-z0-9.:_-]+$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a host name or an IP address.');
}

/** Whatever it names; an empty one, as of a variable of a script that is not set, would be named by no error. */
export function fileValue(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected the name of a file.');
}

export function rateValue(text: string): number {
  const rate = /^[0-9]*\.?[0-9]+$/.test(text) ? Number(text) : 0;
  if (rate > 0) return rate;
  throw new InvalidArgumentError('Expected a number above 0.');
}

export function startTimeValue(text: string): string {
  if (startTimeSchema.safeParse(text).success) return text;
  throw new InvalidArgumentError('Expected a time such as 2026-01-01T00:00:00.000Z.');
}

/** What a bearer token may carry. */
export function tokenValue(text: string): string {
  if (/^[A-Za-z0-9_.~+/=-]{1,200}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 200 of A-Z a-z 0-9 _ . ~ + / = -');
}

/** One `name=value`, collected: what stands later wins. */
export function assumptionValue(
  text: string,
  earlier: readonly Partial<Assumptions>[],
): readonly Partial<Assumptions>[] {
  const reading = parseAssumption(text);
  if (reading.kind === 'mistake') throw new InvalidArgumentError(`${reading.message}.`);
  return [...earlier, reading.override];
}

/** One `endpoint=N|off`, collected. */
export function limitValue(
  text: string,
  earlier: readonly LimitOverrides[],
): readonly LimitOverrides[] {
  const [name = '', limit = ''] = text.split('=', 2);
  const endpoint = endpointNames.find((known) => known === name);
  if (endpoint === undefined) {
    const near = nearestName(name, endpointNames);
    const hint =
      near === undefined ? `Known are ${endpointNames.join(', ')}` : `Did you mean ${near}`;
    throw new InvalidArgumentError(`No endpoint is named "${name}". ${hint}.`);
  }
  if (limit === 'off') return [...earlier, { [endpoint]: null }];
  const perMinute = /^[0-9]{1,7}$/.test(limit) ? Number(limit) : 0;
  if (perMinute >= 1 && perMinute <= 1_000_000) return [...earlier, { [endpoint]: perMinute }];
  throw new InvalidArgumentError('Expected endpoint=N with N from 1 to 1000000, or endpoint=off.');
}

/** Whether a host is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function wholeNumber(text: string, max: number): number {
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= max) return value;
  throw new InvalidArgumentError(`Expected a whole number from 0 to ${max}.`);
}
