/**
 * Parses `send_at`: a date, a time of day and a zone. Rules: SEND-7. Assumes: sendAtFormats,
 * sendAtZone. Rounds fractions of a millisecond up, so that no message is released too early.
 */
import { dayMs, hourMs, minuteMs, secondMs } from '#contract/time.ts';
import type { Assumptions } from '../assumptions.ts';

type SendAtAssumptions = Pick<Assumptions, 'sendAtFormats' | 'sendAtZone'>;

/** The end of the last year with four digits: later times become this one. */
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

interface Format {
  /** Patterns of date and time, without the zone: a schema adds the zones that are accepted. */
  readonly sources: readonly string[];
  /** The pattern of the minutes of a zone's offset. */
  readonly offsetMinutes: string;
  /** The patterns of the whole text. */
  readonly patterns: readonly RegExp[];
  /** The form in words, for error messages. */
  readonly expected: string;
  /** True if midnight at the end of a day may be written as hour 24. */
  readonly hasHour24: boolean;
}

const rfc3339Date = dateSource('-', [String.raw`(?<month>\d{2})-(?<day>\d{2})`]);
const rfc3339Seconds = String.raw`(?::(?<second>\d{2})(?:\.(?<fraction>\d+))?)?`;

const formats: Readonly<Record<Assumptions['sendAtFormats'], Format>> = {
  rfc3339: withPatterns({
    sources: [String.raw`${rfc3339Date}[Tt](?<hour>\d{2}):(?<minute>\d{2})${rfc3339Seconds}`],
    offsetMinutes: String.raw`:(?<offsetMinute>\d{2})`,
    expected: 'expected an RFC 3339 date and time, YYYY-MM-DDThh:mm:ssZ',
    hasHour24: false,
  }),
  iso8601: withPatterns({
    sources: [iso8601Source('-', ':'), iso8601Source('', '')],
    offsetMinutes: String.raw`(?::?(?<offsetMinute>\d{2}))?`,
    expected: 'expected an ISO 8601 date and time, YYYY-MM-DDThh:mm:ssZ or YYYYMMDDThhmmssZ',
    hasHour24: true,
  }),
};

/** Which zones each answer accepts besides UTC. */
const zones: Readonly<Record<Assumptions['sendAtZone'], AcceptedZones>> = {
  utc_only: { mayBeMissing: false, mayBeOther: false },
  any_offset: { mayBeMissing: false, mayBeOther: true },
  naive_is_utc: { mayBeMissing: true, mayBeOther: false },
  any: { mayBeMissing: true, mayBeOther: true },
};

interface AcceptedZones {
  /** Then it is UTC. */
  readonly mayBeMissing: boolean;
  readonly mayBeOther: boolean;
}

function withPatterns(format: Omit<Format, 'patterns'>): Format {
  const offset = String.raw`(?<sign>[+-])(?<offsetHour>\d{2})${format.offsetMinutes}`;
  const zone = `(?<zone>[Zz]|${offset})?`;
  return {
    ...format,
    patterns: format.sources.map((source) => new RegExp(`^${source}${zone}$`)),
  };
}

/** Calendar, week and ordinal dates; the extended format has separators, the basic one has none. */
function iso8601Source(dash: '-' | '', colon: ':' | ''): string {
  const date = dateSource(dash, [
    String.raw`(?<month>\d{2})${dash}(?<day>\d{2})`,
    String.raw`W(?<week>\d{2})${dash}(?<weekday>\d)`,
    String.raw`(?<ordinal>\d{3})`,
  ]);
  const minutes = String.raw`(?:${colon}(?<minute>\d{2})(?:${colon}(?<second>\d{2}))?)?`;
  return String.raw`${date}[Tt](?<hour>\d{2})${minutes}(?:[.,](?<fraction>\d+))?`;
}

function dateSource(dash: '-' | '', kinds: readonly string[]): string {
  return String.raw`(?<year>\d{4})${dash}(?:${kinds.join('|')})`;
}

/**
 * The part of `send_at` that a JSON Schema can check: the spelling, not whether the time exists.
 */
export function sendAtPattern({ sendAtFormats, sendAtZone }: SendAtAssumptions): string {
  const { sources, offsetMinutes } = formats[sendAtFormats];
  const utc = String.raw`\+00${offsetMinutes.replace(String.raw`\d{2}`, '00')}`;
  const offset = String.raw`[+-]\d{2}${offsetMinutes}`;
  const { mayBeMissing, mayBeOther } = zones[sendAtZone];
  const zone = `(?:[Zz]|${mayBeOther ? offset : utc})${mayBeMissing ? '?' : ''}`;
  const pattern = `^(?:${sources.join('|')})${zone}$`;
  // A pattern may contain a group name only once, and some readers of schemas reject group names.
  return pattern.replaceAll(/\?<\w+>/g, '');
}

/** Epoch milliseconds, or the reason why the text is not a valid time. */
export function parseSendAt(
  text: string,
  { sendAtFormats, sendAtZone }: SendAtAssumptions,
): number | { readonly why: string } {
  const { patterns, expected, hasHour24 } = formats[sendAtFormats];
  const parts = matchAny(text, patterns);
  if (parts === undefined) return { why: `Not understood: ${expected}.` };
  const wallMs = Math.min(dateMs(parts) + timeMs(parts, { hasHour24 }), latestMs);
  if (Number.isNaN(wallMs)) return { why: `No such date or time: ${expected}.` };
  const { zone, sign, offsetHour, offsetMinute = '00' } = parts;
  const { mayBeMissing, mayBeOther } = zones[sendAtZone];
  if (zone === undefined)
    return mayBeMissing ? wallMs : { why: 'The time zone is missing: end it with Z.' };
  const offsetMs = Number(offsetHour ?? 0) * hourMs + Number(offsetMinute) * minuteMs;
  // RFC 3339: -00:00 says that the offset is not known.
  if (offsetMs === 0 && sign !== '-') return wallMs;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59)
    return { why: 'No such time zone offset.' };
  if (!mayBeOther) return { why: 'Only UTC is accepted: end it with Z.' };
  return Math.min(sign === '+' ? wallMs - offsetMs : wallMs + offsetMs, latestMs);
}

type Parts = Readonly<Partial<Record<string, string>>>;

function matchAny(text: string, patterns: readonly RegExp[]): Parts | undefined {
  for (const pattern of patterns) {
    const groups = pattern.exec(text)?.groups;
    if (groups !== undefined) return groups;
  }
  return undefined;
}

/** Midnight of the date in UTC; NaN if the date does not exist. */
function dateMs({ year: yearText, month, day, week, weekday, ordinal }: Parts): number {
  const year = Number(yearText);
  // `Date.UTC` reads years before 100 as 19xx.
  if (year < 100) return Number.NaN;
  if (week !== undefined) return weekDateMs(year, Number(week), Number(weekday));
  if (ordinal !== undefined) {
    const ms = Date.UTC(year, 0, Number(ordinal));
    return new Date(ms).getUTCFullYear() === year ? ms : Number.NaN;
  }
  const ms = Date.UTC(year, Number(month) - 1, Number(day));
  // `Date.UTC` carries 30 February over into March.
  const date = new Date(ms);
  const exists = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  return exists ? ms : Number.NaN;
}

/** Week 1 contains 4 January; a week belongs to the year of its Thursday. */
function weekDateMs(year: number, week: number, weekday: number): number {
  const january4 = new Date(Date.UTC(year, 0, 4));
  const daysSinceMonday = (january4.getUTCDay() + 6) % 7;
  const mondayMs = january4.getTime() + ((week - 1) * 7 - daysSinceMonday) * dayMs;
  const thursday = new Date(mondayMs + 3 * dayMs);
  const exists = weekday >= 1 && weekday <= 7 && thursday.getUTCFullYear() === year;
  return exists ? mondayMs + (weekday - 1) * dayMs : Number.NaN;
}

/**
 * Milliseconds since midnight; NaN if the time of day does not exist. Leap seconds are not
 * accepted.
 */
function timeMs(
  { hour, minute, second, fraction = '0' }: Parts,
  { hasHour24 }: Pick<Format, 'hasHour24'>,
): number {
  const [hours, minutes, seconds] = [Number(hour), Number(minute ?? 0), Number(second ?? 0)];
  const wholeMs = hours * hourMs + minutes * minuteMs + seconds * secondMs;
  const ms = wholeMs + fractionMs(fraction, smallestUnitMs(minute, second));
  const isMidnightAtEnd = hasHour24 && hours === 24 && ms === dayMs;
  const exists = (hours <= 23 || isMidnightAtEnd) && minutes <= 59 && seconds <= 59;
  return exists ? ms : Number.NaN;
}

/** The smallest unit that a time states, in milliseconds. A fraction is a part of this unit. */
function smallestUnitMs(minute: string | undefined, second: string | undefined): number {
  if (second !== undefined) return secondMs;
  return minute === undefined ? hourMs : minuteMs;
}

/**
 * Decimal digits of a unit as milliseconds, rounded up. Computed in integers, because floats would
 * round twice.
 */
function fractionMs(digits: string, unitMs: number): number {
  // After 20 digits, it matters only whether the others are zero.
  const tail = /[1-9]/.test(digits.slice(20)) ? '1' : '';
  const shortened = digits.slice(0, 20) + tail;
  const scale = 10n ** BigInt(shortened.length);
  return Number((BigInt(shortened) * BigInt(unitMs) + scale - 1n) / scale);
}
