/** Writes a `send_at` near the present in the forms of ISO 8601. */
import { dayMs } from '../../../src/ledger/time-units.ts';

/** A time, and how to write it. */
export interface TimeChoice {
  /** Milliseconds from now; negative for the past. */
  readonly aheadMs: number;
  readonly zone: string;
  /** Digits of the fraction of a second; at most 7. */
  readonly digits: number;
  readonly form: 'basic' | 'week' | 'ordinal' | undefined;
}

export function writtenTime({ aheadMs, zone, digits, form }: TimeChoice, nowMs: number): string {
  const text = new Date(nowMs + aheadMs).toISOString();
  const fraction = `${text.slice(20, 23)}0009`.slice(0, digits);
  return `${inForm(form, text.slice(0, 19))}${digits > 0 ? `.${fraction}` : ''}${zone}`;
}

function inForm(form: TimeChoice['form'], text: string): string {
  if (form === undefined) return text;
  if (form === 'basic') return text.replaceAll(/[-:]/g, '');
  const midnightMs = Date.parse(`${text.slice(0, 10)}T00:00Z`);
  const weekday = new Date(midnightMs).getUTCDay() || 7;
  // The year and week of a date are those of its Thursday.
  const countedMs = form === 'week' ? midnightMs + (4 - weekday) * dayMs : midnightMs;
  const year = new Date(countedMs).getUTCFullYear();
  const ordinal = (countedMs - Date.UTC(year, 0, 1)) / dayMs + 1;
  const date =
    form === 'ordinal'
      ? `${year}-${String(ordinal).padStart(3, '0')}`
      : `${year}-W${String(Math.ceil(ordinal / 7)).padStart(2, '0')}-${weekday}`;
  return date + text.slice(10);
}
