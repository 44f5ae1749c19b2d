/**
 * Parsers for the values of `serve`'s flags: each reads one text, or throws a ValueError that says
 * what it expected.
 */
import { isIP } from 'node:net';
import { endpointNames } from '#contract/limits.ts';
import { nameAndValue, wholeNumber } from '#io/flag-values.ts';
import { ValueError } from '#io/flags.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import { parseAssumption } from './given-assumptions.ts';
import { largestRate, largestSeed, startTimeSchema } from './settings.ts';
import { bearerToken, expectedToken, type LimitOverrides, mostPerMinute } from './world-schema.ts';

/** A port; 0 selects any free one. */
export const portValue = wholeNumber(0, 65_535);

export const seedValue = wholeNumber(0, largestSeed);

export function maxMessagesValue(text: string): number | 'unlimited' {
  return text === 'unlimited' ? text : wholeNumber(1, Number.MAX_SAFE_INTEGER)(text);
}

export function hostValue(text: string): string {
  if (/^[A-Za-z0-9.:_-]+$/.test(text)) return text;
  throw new ValueError('expected a host name or an IP address');
}

/** A host name as in a `Host` header, without the port; returned in lower case. */
export function hostNameValue(text: string): string {
  if (/^[A-Za-z0-9._-]+$/.test(text) || isIP(text) === 6) return text.toLowerCase();
  throw new ValueError('expected a host name such as smstwin, without a scheme or a port');
}

export function rateValue(text: string): number {
  const rate = /^[0-9]*\.?[0-9]+(?:e[0-9]{1,3})?$/i.test(text) ? Number(text) : 0;
  if (rate > 0 && rate <= largestRate) return rate;
  throw new ValueError(
    `expected simulated seconds per second: a number above 0, at most ${largestRate}`,
  );
}

export function startTimeValue(text: string): string {
  if (startTimeSchema.safeParse(text).success) return text;
  throw new ValueError('expected a time such as 2026-01-01T00:00:00.000Z');
}

const unitBytes: Readonly<Record<string, number>> = { MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** A number of bytes; Infinity for `unlimited`. */
export function sizeValue(text: string): number {
  if (text === 'unlimited') return Number.POSITIVE_INFINITY;
  const [, count = '0', unit = ''] = /^([0-9]{1,6})(MiB|GiB|TiB)$/.exec(text) ?? [];
  const bytes = Number(count) * (unitBytes[unit] ?? 0);
  if (bytes > 0) return bytes;
  throw new ValueError('expected 1MiB or more, such as 64MiB or 1GiB, or unlimited');
}

/** Reads `0/3`: the first of three shards. */
export function shardValue(text: string): { readonly index: number; readonly count: number } {
  const [index = -1, count = 0] = /^\d{1,3}\/\d{1,3}$/.test(text)
    ? text.split('/').map(Number)
    : [];
  if (index >= 0 && index < count) return { index, count };
  throw new ValueError('expected i/N with i from 0 to N - 1, such as 0/3');
}

export function tokenValue(text: string): string {
  if (bearerToken.test(text)) return text;
  throw new ValueError(expectedToken);
}

export function assumptionValue(text: string): Partial<Assumptions> {
  const reading = parseAssumption(text);
  if (reading.kind === 'mistake') throw new ValueError(reading.message);
  return reading.override;
}

/** Reads one `endpoint=N|off`. */
export function limitValue(text: string): LimitOverrides {
  const [name, limit] = nameAndValue(text);
  const endpoint = endpointNames.find((each) => each === name);
  if (endpoint === undefined)
    throw new ValueError(`no endpoint is named "${name}"; use one of ${endpointNames.join(', ')}`);
  if (limit === 'off') return { [endpoint]: null };
  const perMinute = /^[0-9]{1,7}$/.test(limit) ? Number(limit) : 0;
  if (perMinute >= 1 && perMinute <= mostPerMinute) return { [endpoint]: perMinute };
  throw new ValueError(`expected endpoint=N with N from 1 to ${mostPerMinute}, or endpoint=off`);
}
