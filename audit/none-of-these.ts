/** Words for a limiter that is none of the known ones, and the requests that show a limiter. */
import type { Evidence } from './evidence.ts';

/** Requests that follow each other within this time are one burst. */
const atOnceMs = 50;

/** What the limiter did that none of the known ones does. */
export function whyNone(evidence: Evidence): readonly [sentence: string, shown: readonly number[]] {
  const { contradiction, decisions, numbers } = evidence;
  const [number, before] = [numbers[contradiction] ?? 0, numbers[contradiction - 1] ?? 0];
  const shown = [before, number, ...turningPoints(evidence)];
  const none = 'none of the known limiters answers like this one';
  if (decisions[contradiction]?.passed === false)
    return [
      `${none}: all that fit the answers before would let request #${number} pass, but it was refused, as by a second limit over a longer time`,
      shown,
    ];
  const isMixed = decisions[contradiction - 1]?.passed === false;
  const gapMs = (decisions[contradiction]?.from ?? 0) - (decisions[contradiction - 1]?.to ?? 0);
  return [
    isMixed && gapMs <= atOnceMs
      ? `${none}: request #${number} passed right after #${before} was refused, as where several counters share the requests`
      : `${none}: all that fit the answers before would refuse request #${number}, but it passed, as after a restart that forgets what was spent`,
    shown,
  ];
}

/** The requests around each change between passes and refusals: the model follows from them. */
export function turningPoints({ decisions, numbers }: Evidence): number[] {
  return numbers.filter(
    (_, i) =>
      decisions[i]?.passed !== decisions[i + 1]?.passed ||
      decisions[i]?.passed !== decisions[i - 1]?.passed,
  );
}
