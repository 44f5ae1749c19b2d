/** When the minutes of a target's clock may begin, for limiters that count by them. */
import { minuteMs } from '#contract/time.ts';
import { type Ahead, unknown } from '../evidence/clock-offset.ts';

/** When the minutes of a clock begin: this long after a full minute of ours, give or take. */
export interface Minutes {
  readonly phaseMs: number;
  readonly errorMs: number;
}

const phaseStepMs = 100;

interface Clock {
  readonly hasExactTimes: boolean;
  readonly spanErrorMs: number;
  readonly ahead?: Ahead | undefined;
}

/** All that the minutes of the target may be, as far as its clock is known. */
export function minutesOf({ hasExactTimes, ahead, spanErrorMs }: Clock): Minutes[] {
  if (hasExactTimes) return [{ phaseMs: 0, errorMs: 0 }];
  const isKnown = ahead !== undefined && ahead !== unknown;
  const { least, most } = isKnown ? ahead : { least: 0, most: minuteMs };
  const minutes: Minutes[] = [];
  for (let offsetMs = least; offsetMs <= Math.min(most, least + minuteMs); offsetMs += phaseStepMs)
    minutes.push({ phaseMs: -offsetMs, errorMs: phaseStepMs + spanErrorMs });
  return minutes;
}

/** The start of the minute that holds this time. */
export function minuteStart(at: number, phaseMs: number): number {
  return Math.floor((at - phaseMs) / minuteMs) * minuteMs + phaseMs;
}
