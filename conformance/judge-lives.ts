/**
 * What the recorded lives of messages say of each rule. Rules: STATE-2 to STATE-5, SVC-2, SVC-3,
 * READ-1, RES-4, RES-5.
 */
import { about, type Case, type Live } from './case.ts';
import {
  latestPickupMs,
  livesInRealTime,
  type RecordedLife,
  recordedLives,
} from './recorded-lives.ts';
import type { RuleId } from './rules.ts';
import type { Trial } from './trial.ts';
import * as verify from './verify.ts';

type JudgeLives = (t: Trial, lives: readonly RecordedLife[]) => void;

/** How a case is judged without levers; `needed` says what was missing where nothing was judged. */
export function byLives(judge: JudgeLives, needed?: string): Live<void> {
  return {
    needs: ['sender'],
    judges: [livesInRealTime],
    run: async (t) => {
      judge(t, await recordedLives(t));
      if (needed !== undefined && t.exercised === 0) t.lack(needed);
    },
  };
}

/** A case that judges the lives of messages of every fate; without levers, those of two. */
export function ofLives(
  id: `${RuleId}/${string}`,
  demands: string,
  judge: JudgeLives,
  needed?: string,
): Case {
  return {
    ...about(id, ['fresh', 'clock'], { sends: 6 }),
    alone: true,
    sends: 'messages of every fate, read all their life',
    demands,
    run: async (t) => judge(t, await recordedLives(t)),
    live: byLives(judge, needed),
  };
}

export const aPickup = 'a message that is picked up within the wait';

/** The message was picked up in time, or its device is seen to pick up others first. */
export function pickedUpInTime(t: Trial, of: RecordedLife): void {
  const isLate = wasPickedUpLate(of);
  if (isLate && of.isPassedOver) lackRoom(t);
  verify.that(!isLate, `pickup within ${latestPickupMs / 1_000} s`, describeLife(of));
  t.count();
}

/** Only where no late read explains it: a status may have begun right after the read before. */
export function wasPickedUpLate({ sightings: [, next] }: Pick<RecordedLife, 'sightings'>): boolean {
  return next === undefined || next.at - next.within > latestPickupMs;
}

export function lackRoom(t: Trial): never {
  return t.lack('a device that takes all its work at each poll (sendsPerPoll)');
}

/** How a message's life went, for reports. */
export function describeLife(life: RecordedLife): string {
  return life.sightings
    .map(({ status, at }) => `${status} (+${(at / 1000).toFixed(1)} s)`)
    .join(', ');
}
