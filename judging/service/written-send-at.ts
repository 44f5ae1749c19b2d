/**
 * Reads the time that a `send_at` names. Rules: SEND-7. Assumes: sendAtFormats, sendAtZone. RFC
 * 3339 is one form of ISO 8601, so both are read here, and RFC 3339 then excludes the other forms.
 */
import type { AssumptionName, NamedAnswer } from '#contract/assumptions.ts';
import { dayMs } from '#contract/time.ts';

type Answers = { readonly [N in AssumptionName]: NamedAnswer<N> };

const timestampForm = /^(\d{4}-?[W\d-]+)[Tt]([\d:]+)(?:([.,])(\d+))?([Zz]|[+-][\d:]+)?$/;

/** Milliseconds since 1970, rounded up; undefined if the value is not a valid time. */
export function instantOf(
  value: unknown,
  { sendAtFormats, sendAtZone }: Pick<Answers, 'sendAtFormats' | 'sendAtZone'>,
): number | undefined {
  if (typeof value !== 'string') return undefined;
  const isIso = sendAtFormats === 'iso8601';
  const [, date = '', time = '', point = '.', decimals = '', zone = ''] =
    timestampForm.exec(value) ?? [];
  const isBasic = !date.includes('-');
  const dateParts = isBasic
    ? /^\d{4}(?:(\d{4})|(W\d{3})|(\d{3}))$/.exec(date)
    : /^\d{4}-(?:(\d\d-\d\d)|(W\d\d-\d)|(\d{3}))$/.exec(date);
  if (dateParts === null) return undefined;
  // RFC 3339 has calendar dates with hyphens alone.
  if (!isIso && (isBasic || dateParts[1] === undefined)) return undefined;
  const midnight = midnightOf(date.replaceAll('-', ''));
  const digits = time.replaceAll(':', '');
  const timeForm = isBasic ? /^(\d\d){1,3}$/ : /^\d\d(:\d\d){0,2}$/;
  if (!timeForm.test(time)) return undefined;
  if (!isIso && digits.length === 2) return undefined;
  if (!isIso && decimals !== '' && (point === ',' || digits.length < 6)) return undefined;
  const clock = clockOf(digits, decimals || '0', isIso);
  if (midnight === undefined || clock === undefined) return undefined;
  return toUtc(midnight + clock, zone, isIso, sendAtZone);
}

/** Subtracts the offset of a zone; undefined if `sendAtZone` does not permit the zone. */
function toUtc(
  wallClockMs: number,
  zone: string,
  isIso: boolean,
  sendAtZone: Answers['sendAtZone'],
): number | undefined {
  if (zone === 'Z' || zone === 'z') return wallClockMs;
  if (zone === '')
    return sendAtZone === 'any' || sendAtZone === 'naive_is_utc' ? wallClockMs : undefined;
  const zoneForm = isIso ? /^[+-]\d\d(?::?\d\d)?$/ : /^[+-]\d\d:\d\d$/;
  if (!zoneForm.test(zone)) return undefined;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))];
  if (hours === 0 && minutes === 0 && zone.startsWith('+')) return wallClockMs;
  if (hours > 23 || minutes > 59) return undefined;
  if (sendAtZone !== 'any' && sendAtZone !== 'any_offset') return undefined;
  const offsetMs = (hours * 60 + minutes) * 60_000;
  return wallClockMs + (zone.startsWith('-') ? offsetMs : -offsetMs);
}

/**
 * The start of a date in milliseconds; undefined if its year has no such day. `date`: yyyymmdd,
 * yyyyWwwd or yyyyddd.
 */
function midnightOf(date: string): number | undefined {
  const year = Number(date.slice(0, 4));
  if (date === '' || year < 100) return undefined;
  const yearOf = (ms: number) => new Date(ms).getUTCFullYear();
  const newYear = Date.UTC(year, 0, 1);
  if (date[4] === 'W') {
    const [week, weekday] = [Number(date.slice(5, 7)), Number(date[7])];
    // The first week has 4 January. A week belongs to the year of its Thursday.
    const january4 = new Date(newYear + 3 * dayMs).getUTCDay() || 7;
    const sunday = newYear + (week * 7 - january4 - 4) * dayMs;
    const isWeek = yearOf(sunday + 4 * dayMs) === year && weekday >= 1 && weekday <= 7;
    return isWeek ? sunday + weekday * dayMs : undefined;
  }
  if (date.length === 7) {
    const midnight = newYear + (Number(date.slice(4)) - 1) * dayMs;
    return yearOf(midnight) === year ? midnight : undefined;
  }
  const midnight = Date.UTC(year, Number(date.slice(4, 6)) - 1, Number(date.slice(6)));
  const isDay = new Date(midnight).toISOString().slice(0, 10).replaceAll('-', '') === date;
  return isDay ? midnight : undefined;
}

/** Milliseconds since midnight. `digits`: hh, hhmm or hhmmss; `decimals`: of the last unit. */
function clockOf(digits: string, decimals: string, isIso: boolean): number | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = (digits.match(/\d\d/g) ?? []).map(Number);
  const unitMs = { 2: 3_600_000n, 4: 60_000n, 6: 1000n }[digits.length] ?? 0n;
  const [scaledMs, scale] = [BigInt(decimals) * unitMs, 10n ** BigInt(decimals.length)];
  const fraction = Number(scaledMs / scale) + (scaledMs % scale > 0n ? 1 : 0);
  if (isIso && digits.padEnd(6, '0') === '240000' && fraction === 0) return dayMs;
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction;
}
