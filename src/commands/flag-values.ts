/**
 * Readers of flag values that several commands share: each reads one text, or throws a ValueError
 * that says what it expected.
 */
import { isIPv4 } from 'node:net';
import { ValueError } from './flags.ts';
import { type Report, readReport } from './report-flag.ts';
import { isWritable } from './writable.ts';

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
    if (value >= least && value <= most) return value;
    throw new ValueError(`expected a whole number from ${least} to ${most}`);
  };
}

export function oneOf<const W extends string>(words: readonly W[]): (text: string) => W {
  return (text) => {
    const word = words.find((known) => known === text);
    if (word !== undefined) return word;
    const others = words.slice(0, -1).join(', ');
    throw new ValueError(`expected ${others === '' ? '' : `${others} or `}${words.at(-1)}`);
  };
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

interface DurationBounds {
  readonly leastMs?: number;
  readonly mostMs: number;
  /** Such as `a duration above 0 and below 24 days, such as 3s`. */
  readonly expected: string;
}

/** Milliseconds of `500ms`, `1.5s` or `24h`, perhaps a fraction; NaN for any other text. */
export function readDuration(text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(amount) * (unitMs[unit] ?? Number.NaN);
}

export function duration({ leastMs = 1, mostMs, expected }: DurationBounds) {
  return (text: string): number => {
    const ms = Math.round(readDuration(text));
    if (ms >= leastMs && ms <= mostMs) return ms;
    throw new ValueError(`expected ${expected}`);
  };
}

/** Refuses an empty name, which usually comes from an unset shell variable. */
export function fileValue(text: string): string {
  if (text !== '') return text;
  throw new ValueError('expected the name of a file');
}

/** A file that can be written, checked before a run whose findings would be lost otherwise. */
export function writableFile(text: string): string {
  if (isWritable(text)) return text;
  throw new ValueError('cannot be written; check that its folder exists and is writable');
}

export function reportValue(text: string): Report {
  const report = readReport(text);
  if (typeof report === 'string') throw new ValueError(report);
  return report;
}

/** A key or token. One that no header can carry was probably pasted with a line break. */
export function headerValue(text: string): string {
  if (/^[ -~\u00a0-\u00ff]*$/.test(text)) return text;
  throw new ValueError('holds a character that no header can carry, such as a line break');
}

export function phoneNumber(text: string): string {
  if (/^\+[1-9]\d{1,14}$/.test(text)) return text;
  throw new ValueError('expected a number in E.164, such as +12025550101');
}

export function webAddress(text: string): string {
  if (isWebAddress(text)) return text;
  throw new ValueError('expected a URL that starts with http:// or https://');
}

export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** True if only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
