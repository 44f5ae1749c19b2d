/**
 * `send_at`: ISO 8601, a calendar date and a time of day. Rules: SEND-7. Assumes: sendAtZone.
 */
import type { Assumptions } from './assumptions.ts';

const dateAndTime = String.raw`(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?`;
const shape = new RegExp(String.raw`^${dateAndTime}(Z|[+-]\d{2}:\d{2})?$`);

const zones: Record<Assumptions['sendAtZone'], string> = {
  utc_only: String.raw`(Z|\+00:00)`,
  any_offset: String.raw`(Z|[+-]\d{2}:\d{2})`,
  naive_is_utc: String.raw`(Z|\+00:00)?`,
};

/** What a schema can say of `send_at`: the spelling, not whether there is such a time. */
export function sendAtPattern(zoneRule: Assumptions['sendAtZone']): string {
  return `^${dateAndTime}${zones[zoneRule]}$`;
}

/** Epoch milliseconds (a finer fraction is cut), or why the text is no such time. */
export function parseSendAt(
  text: string,
  zoneRule: Assumptions['sendAtZone'],
): number | { readonly why: string } {
  const match = shape.exec(text);
  if (match === null) return { why: 'Not an ISO 8601 date and time.' };
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(numeric);
  const millisecond = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const utcMs = Date.UTC(year, month - 1, day, hour, minute, second, millisecond);
  // Date.UTC carries 30 February over into March and reads years before 100 as 19xx.
  const read = new Date(utcMs);
  const exists =
    year >= 100 &&
    month >= 1 &&
    month <= 12 &&
    read.getUTCMonth() === month - 1 &&
    read.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 59) return { why: 'No such date or time.' };
  const zone = match[8];
  if (zone === undefined) {
    return zoneRule === 'naive_is_utc'
      ? utcMs
      : { why: 'The time zone is missing: end it with Z.' };
  }
  if (zone === 'Z' || zone === '+00:00') return utcMs;
  const offsetHours = Number(zone.slice(1, 3));
  const offsetMinutes = Number(zone.slice(4, 6));
  if (offsetHours > 23 || offsetMinutes > 59) return { why: 'No such time zone offset.' };
  if (zoneRule !== 'any_offset') return { why: 'Only UTC is accepted: end it with Z.' };
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return zone.startsWith('+') ? utcMs - offsetMs : utcMs + offsetMs;
}

function numeric(digits: string | undefined): number {
  return Number(digits ?? 0);
}
