/** Writes a `send_at` near the present in the forms of ISO 8601. */
import { dayMs } from '#contract/time.ts';

/** A time, and how to write it. */
export interface TimeChoice {
  /** Milliseconds from now; negative for the past. */
  readonly aheadMs: number;
  readonly zone: string;
  /** Digits of the fraction of a second; at most 7. */
  readonly digits: number;
  readonly form: 'basic' | 'week' | 'ordinal' | undefined;
}

/** What follows the milliseconds. Its last digit shows whether a service keeps all seven digits. */
const finerDigits = '0009';

export function writtenTime({ aheadMs, zone, digits, form }: TimeChoice, nowMs: number): string {
  const iso = new Date(nowMs + aheadMs).toISOString();
  const [date = '', time = '', milliseconds = ''] = iso.split(/[TZ.]/);
  const fraction = `${milliseconds}${finerDigits}`.slice(0, digits);
  const writtenClock = form === 'basic' ? time.replaceAll(':', '') : time;
  return `${writtenDate(date, form)}T${writtenClock}${digits > 0 ? `.${fraction}` : ''}${zone}`;
}

function writtenDate(date: string, form: TimeChoice['form']): string {
  if (form === undefined) return date;
  if (form === 'basic') return date.replaceAll('-', '');
  const midnightMs = Date.parse(date);
  return form === 'week' ? weekDate(midnightMs) : ordinalDate(midnightMs);
}

/** A year and a day in it, such as `2026-031`. */
function ordinalDate(midnightMs: number): string {
  const { year, day } = dayOfYear(midnightMs);
  return `${year}-${String(day).padStart(3, '0')}`;
}

/** A year, a week and a day in it, such as `2026-W05-6`. Monday is 1, and Sunday is 7. */
function weekDate(midnightMs: number): string {
  const weekday = new Date(midnightMs).getUTCDay() || 7;
  // The year and week of a date are those of its Thursday.
  const { year, day } = dayOfYear(midnightMs + (4 - weekday) * dayMs);
  return `${year}-W${String(Math.ceil(day / 7)).padStart(2, '0')}-${weekday}`;
}

function dayOfYear(midnightMs: number): { readonly year: number; readonly day: number } {
  const year = new Date(midnightMs).getUTCFullYear();
  return { year, day: (midnightMs - Date.UTC(year, 0, 1)) / dayMs + 1 };
}
