/**
 * `send_at`: a date, a time of day and a zone. Rules: SEND-7. Assumes: sendAtFormats, sendAtZone.
 * Fractions below the millisecond round up: a message is never released before its time.
 */
import type { Assumptions, SendAtForm } from './assumptions.ts';
import { msPerDay } from './limits.ts';

type SendAtAssumptions = Pick<Assumptions, 'sendAtFormats' | 'sendAtZone'>;
type Format = Assumptions['sendAtFormats'];

/** Replies have four digits for a year. Simulated time ends long before. */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The forms that each name includes. */
const namedForms: Readonly<Record<'rfc3339' | 'iso8601', readonly SendAtForm[]>> = {
  rfc3339: ['lower_case', 'no_seconds', 'nine_decimals', 'long_decimals'],
  iso8601: [
    'lower_case',
    'no_seconds',
    'no_minutes',
    'basic',
    'week_date',
    'ordinal_date',
    'decimal_comma',
    'decimals_of_any_unit',
    'nine_decimals',
    'long_decimals',
    'hour_24',
    'short_offset',
  ],
};

interface Shape {
  readonly forms: ReadonlySet<SendAtForm>;
  /** Date and time, without the zone. */
  readonly sources: readonly string[];
  readonly offsetMinutes: string;
  readonly patterns: readonly RegExp[];
  readonly expected: string;
}

/** Cached by name or list for the life of the process; there are few. */
const shapes = new Map<string, Shape>();
const mostShapes = 100;

function shapeOf(format: Format): Shape {
  const name = String(format);
  let shape = shapes.get(name);
  if (shape === undefined) {
    if (shapes.size >= mostShapes) shapes.clear();
    shape = makeShape(format);
    shapes.set(name, shape);
  }
  return shape;
}

function makeShape(format: Format): Shape {
  const forms = new Set(typeof format === 'string' ? namedForms[format] : format);
  const sources = [source(forms, '-', ':'), ...(forms.has('basic') ? [source(forms, '', '')] : [])];
  const offsetMinutes = forms.has('short_offset')
    ? String.raw`(?::?(?<offsetMinute>\d{2}))?`
    : String.raw`:(?<offsetMinute>\d{2})`;
  const z = forms.has('lower_case') ? '[Zz]' : 'Z';
  const zone = String.raw`(?<zone>${z}|(?<sign>[+-])(?<offsetHour>\d{2})${offsetMinutes})?`;
  const patterns = sources.map((one) => new RegExp(`^${one}${zone}$`));
  const whole = forms.has('date_only') ? [new RegExp(`^${dateSource(forms, '-')}$`)] : [];
  const basic = forms.has('basic') ? ' or YYYYMMDDThhmmssZ' : '';
  const standard = forms.has('basic') ? 'an ISO 8601' : 'an RFC 3339';
  return {
    forms,
    sources,
    offsetMinutes,
    patterns: [...patterns, ...whole],
    expected: `expected ${standard} date and time, YYYY-MM-DDThh:mm:ssZ${basic}`,
  };
}

type Forms = ReadonlySet<SendAtForm>;

/** Calendar, week and ordinal dates; the extended format has separators, the basic one has none. */
function source(forms: Forms, dash: '-' | '', colon: ':' | ''): string {
  const most = forms.has('nine_decimals') ? 9 : 6;
  const digits = forms.has('long_decimals') ? String.raw`\d+` : String.raw`\d{1,${most}}`;
  const point = forms.has('decimal_comma') ? '[.,]' : String.raw`\.`;
  const fraction = `(?:${point}(?<fraction>${digits}))?`;
  const isAnyUnit = forms.has('decimals_of_any_unit');
  const mayEnd = (has: boolean) => (has ? '?' : '');
  const seconds = String.raw`(?:${colon}(?<second>\d{2})${isAnyUnit ? '' : fraction})${mayEnd(forms.has('no_seconds'))}`;
  const minutes = String.raw`(?:${colon}(?<minute>\d{2})${seconds})${mayEnd(forms.has('no_minutes'))}`;
  const time = String.raw`(?<hour>\d{2})${minutes}${isAnyUnit ? fraction : ''}`;
  const between = `T${forms.has('lower_case') ? 't' : ''}${forms.has('space') ? ' ' : ''}`;
  return `${dateSource(forms, dash)}[${between}]${time}`;
}

function dateSource(forms: Forms, dash: '-' | ''): string {
  const kinds = [String.raw`(?<month>\d{2})${dash}(?<day>\d{2})`];
  if (forms.has('week_date')) kinds.push(String.raw`W(?<week>\d{2})${dash}(?<weekday>\d)`);
  if (forms.has('ordinal_date')) kinds.push(String.raw`(?<ordinal>\d{3})`);
  return String.raw`(?<year>\d{4})${dash}(?:${kinds.join('|')})`;
}

/**
 * The part of `send_at` that a JSON Schema can check: the spelling, not whether the time exists.
 */
export function sendAtPattern({ sendAtFormats, sendAtZone }: SendAtAssumptions): string {
  const { forms, sources, offsetMinutes } = shapeOf(sendAtFormats);
  const z = forms.has('lower_case') ? '[Zz]' : 'Z';
  const utc = String.raw`\+00${offsetMinutes.replace(String.raw`\d{2}`, '00')}`;
  const offset = String.raw`[+-]\d{2}${offsetMinutes}`;
  const zone = {
    utc_only: `(?:${z}|${utc})`,
    any_offset: `(?:${z}|${offset})`,
    naive_is_utc: `(?:${z}|${utc})?`,
    any: `(?:${z}|${offset})?`,
  }[sendAtZone];
  const whole = forms.has('date_only') ? `|^${dateSource(forms, '-')}$` : '';
  const pattern = `^(?:${sources.join('|')})${zone}$${whole}`;
  // A pattern may contain a group name only once, and some readers of schemas reject group names.
  return pattern.replaceAll(/\?<\w+>/g, '');
}

/** Epoch milliseconds, or the reason why the text is not a valid time. */
export function parseSendAt(
  text: string,
  { sendAtFormats, sendAtZone }: SendAtAssumptions,
): number | { readonly why: string } {
  const { forms, patterns, expected } = shapeOf(sendAtFormats);
  const parts = read(text, patterns);
  if (parts === undefined) return { why: `Not understood: ${expected}.` };
  const wallMs = Math.min(dateMs(parts) + timeMs(parts, forms), lastMs);
  if (Number.isNaN(wallMs)) return { why: `No such date or time: ${expected}.` };
  // A date without a time means midnight in UTC.
  if (parts['hour'] === undefined) return wallMs;
  const { zone, sign, offsetHour, offsetMinute = '00' } = parts;
  if (zone === undefined) {
    return sendAtZone === 'naive_is_utc' || sendAtZone === 'any'
      ? wallMs
      : { why: 'The time zone is missing: end it with Z.' };
  }
  const offsetMs = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute)) * 60_000;
  if (offsetMs === 0 && sign !== '-') return wallMs;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) {
    return { why: 'No such time zone offset.' };
  }
  if (sendAtZone !== 'any_offset' && sendAtZone !== 'any') {
    return { why: 'Only UTC is accepted: end it with Z.' };
  }
  return Math.min(sign === '+' ? wallMs - offsetMs : wallMs + offsetMs, lastMs);
}

type Parts = Readonly<Partial<Record<string, string>>>;

function read(text: string, tried: readonly RegExp[]): Parts | undefined {
  for (const shape of tried) {
    const groups = shape.exec(text)?.groups;
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
  const read = new Date(ms);
  const exists = read.getUTCMonth() === Number(month) - 1 && read.getUTCDate() === Number(day);
  return exists ? ms : Number.NaN;
}

/** Week 1 contains 4 January; a week belongs to the year of its Thursday. */
function weekDateMs(year: number, week: number, weekday: number): number {
  const january4 = new Date(Date.UTC(year, 0, 4));
  const daysSinceMonday = (january4.getUTCDay() + 6) % 7;
  const mondayMs = january4.getTime() + ((week - 1) * 7 - daysSinceMonday) * msPerDay;
  const thursday = new Date(mondayMs + 3 * msPerDay);
  const exists = weekday >= 1 && weekday <= 7 && thursday.getUTCFullYear() === year;
  return exists ? mondayMs + (weekday - 1) * msPerDay : Number.NaN;
}

/**
 * Milliseconds since midnight; NaN if the time of day does not exist. Leap seconds are not
 * accepted.
 */
function timeMs({ hour, minute, second, fraction = '0' }: Parts, forms: Forms): number {
  const [hours, minutes, seconds] = [Number(hour ?? 0), Number(minute ?? 0), Number(second ?? 0)];
  const lastUnitMs = second !== undefined ? 1000 : minute !== undefined ? 60_000 : 3_600_000;
  const ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fractionMs(fraction, lastUnitMs);
  const isMidnightAtEnd = forms.has('hour_24') && hours === 24 && ms === msPerDay;
  const lastSecond = forms.has('leap_second') ? 60 : 59;
  const exists = (hours <= 23 || isMidnightAtEnd) && minutes <= 59 && seconds <= lastSecond;
  return exists ? ms : Number.NaN;
}

/**
 * Decimal digits of a unit as milliseconds, rounded up. Computed in integers, because floats would
 * round twice.
 */
function fractionMs(digits: string, unitMs: number): number {
  // Of a long tail, only whether it is zero matters.
  const tail = /[1-9]/.test(digits.slice(20)) ? '1' : '';
  const kept = digits.slice(0, 20) + tail;
  const scale = 10n ** BigInt(kept.length);
  return Number((BigInt(kept) * BigInt(unitMs) + scale - 1n) / scale);
}
