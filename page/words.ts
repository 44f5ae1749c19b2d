/**
 * Counts, times and scripted outcomes in words.
 */
import { dayMs, hourMs, minuteMs, secondMs } from '#contract/time.ts';

/** `1 message`, `1,200 messages`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
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
 */
export function durationText(ms: number): string {
  if (ms < secondMs) return `${ms} ms`;
  if (ms < minuteMs) return `${Math.round(ms / 10) / 100} s`;
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

/** The scripted outcome of messages to one recipient. */
interface Outcome {
  readonly ends: string;
  /** The status in which the message fails or stays. */
  readonly in?: string | undefined;
  readonly polls?: number | undefined;
  readonly refuse?: string | undefined;
}

/** What happens to a message with this outcome, such as `fails while sending`. */
export function outcomeText({ ends, in: status, polls = 1, refuse }: Outcome): string {
  if (ends === 'refused') return `is refused: ${refuse}`;
  if (ends === 'failed') return `fails while ${status}`;
  if (ends === 'stuck') return `stays ${status}`;
  return polls === 1 ? 'is delivered' : `is delivered; each step takes ${polls} polls`;
}
