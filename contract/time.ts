/**
 * Units of time in milliseconds, a duration in words, and an instant as replies write it. Rule:
 * RES-4.
 */
export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** The ends of a formatted time: every number of seconds, and of milliseconds. */
const seconds = Array.from({ length: 60 }, (_, n) => `${String(n).padStart(2, '0')}.`);
const thousandths = Array.from({ length: 1_000 }, (_, n) => `${String(n).padStart(3, '0')}Z`);

let lastIsoMs = Number.NaN;
let lastIso = '';
let lastMinuteMs = Number.NaN;
/** The formatted text of the current minute, up to the colon before the seconds. */
let lastMinute = '';

/**
 * ISO 8601 UTC with milliseconds and a trailing Z (RES-4). `epochMs`: whole milliseconds. Caches
 * the minute, because nearly all calls share it and `toISOString` takes an eighth of the time of a
 * status read.
 */
export function isoTime(epochMs: number): string {
  if (epochMs === lastIsoMs) return lastIso;
  const minuteStartMs = Math.floor(epochMs / minuteMs) * minuteMs;
  const inMinuteMs = epochMs - minuteStartMs;
  if (minuteStartMs !== lastMinuteMs) {
    lastMinute = new Date(minuteStartMs).toISOString().slice(0, -'00.000Z'.length);
    lastMinuteMs = minuteStartMs;
  }
  lastIsoMs = epochMs;
  lastIso = `${lastMinute}${seconds[Math.floor(inMinuteMs / 1_000)]}${thousandths[Math.floor(inMinuteMs) % 1_000]}`;
  return lastIso;
}

/** From largest to smallest. */
const units = [
  { name: 'd', ms: dayMs },
  { name: 'h', ms: hourMs },
  { name: 'min', ms: minuteMs },
  { name: 's', ms: secondMs },
];

/**
 * `250 ms`, `1.5 s`, `2 min 5 s`, `3 h`, `4 d 2 h`: at most two units, of which zeros are omitted.
 * Rounded down. `ms`: whole milliseconds.
 */
export function durationText(ms: number): string {
  if (ms < secondMs) return `${ms} ms`;
  if (ms < minuteMs) return `${Math.floor(ms / 10) / 100} s`;
  const largest = units.findIndex((unit) => ms >= unit.ms);
  let remainingMs = ms;
  const parts: string[] = [];
  for (const unit of units.slice(largest, largest + 2)) {
    const count = Math.floor(remainingMs / unit.ms);
    remainingMs -= count * unit.ms;
    if (count > 0) parts.push(`${count} ${unit.name}`);
  }
  return parts.join(' ');
}
