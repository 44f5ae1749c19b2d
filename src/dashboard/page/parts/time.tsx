/**
 * Shows simulated times as the service writes them: UTC, with milliseconds.
 */
interface TimeProps {
  readonly at: string;
  /** The time above it in a list: where room is short, the same day is not shown again. */
  readonly above?: string | undefined;
}

export function Time({ at, above }: TimeProps) {
  const [day = '', rest = ''] = at.split('T');
  return (
    <time dateTime={at}>
      <span class={above?.startsWith(day) ? 'dim same-day' : 'dim day'}>{day}</span>{' '}
      {rest.replace('Z', '')}
    </time>
  );
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
