/**
 * Counts, times and fates in words.
 */

/** `1 message`, `1,200 messages`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** `1.5 s`, `2 min 5 s`, `3 h`, `4 d 2 h`: the two largest units. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${Math.round(ms / 10) / 100} s`;
  const units: readonly (readonly [string, number])[] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ];
  const first = units.findIndex(([, size]) => ms >= size);
  let rest = ms;
  return units
    .slice(first, first + 2)
    .map(([name, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count === 0 ? '' : `${count} ${name}`;
    })
    .filter((part) => part !== '')
    .join(' ');
}

interface Fate {
  readonly ends: string;
  readonly in?: string | undefined;
  readonly polls?: number | undefined;
}

/** What happens to messages to a recipient. */
export function fateText({ ends, in: at, polls = 1 }: Fate): string {
  if (ends === 'failed') return `fails while ${at}`;
  if (ends === 'stuck') return `stays ${at}`;
  return polls === 1 ? 'is delivered' : `is delivered; each step takes ${polls} polls`;
}
