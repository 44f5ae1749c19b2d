/** Units of time in milliseconds, and an instant as replies write it. Rule: RES-4. */
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
