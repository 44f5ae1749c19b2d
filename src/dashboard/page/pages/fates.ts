/**
 * What happens to messages to a recipient, in words.
 */
interface Fate {
  readonly ends: string;
  readonly in?: string | undefined;
  readonly polls?: number | undefined;
}

export function fateText({ ends, in: at, polls = 1 }: Fate): string {
  if (ends === 'failed') return `fails while ${at}`;
  if (ends === 'stuck') return `stays ${at}`;
  return polls === 1 ? 'is delivered' : `is delivered; each step takes ${polls} polls`;
}
