/**
 * Judges rules on recorded messages. Rules: STATE-2 to STATE-5, SVC-2, SVC-3, READ-1, RES-4, RES-5.
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

/**
 * The variant of a case without a control port; `needed` says what was missing if nothing was
 * judged.
 */
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

/** A case that judges messages of every fate; without a control port, of two fates. */
export function ofLives(
  id: `${RuleId}/${string}`,
  demands: string,
  judge: JudgeLives,
  needed?: string,
): Case {
  return {
    ...about(id, ['fresh', 'clock'], { sends: 6 }),
    alone: true,
    sends: 'messages of every fate, read until after their end',
    demands,
    run: async (t) => judge(t, await recordedLives(t)),
    live: byLives(judge, needed),
  };
}

export const aPickup = 'a message that is picked up within the wait';

/** The message was picked up in time, or its device was seen to pick up others first. */
export function pickedUpInTime(t: Trial, of: RecordedLife): void {
  const isLate = wasPickedUpLate(of);
  if (isLate && of.isPassedOver) lackRoom(t);
  verify.that(!isLate, `pickup within ${latestPickupMs / 1_000} s`, describeLife(of));
  t.count();
}

/**
 * Fails only if a late read cannot explain it: a status may begin right after the previous read.
 */
export function wasPickedUpLate({ sightings: [, next] }: Pick<RecordedLife, 'sightings'>): boolean {
  return next === undefined || next.at - next.within > latestPickupMs;
}

export function lackRoom(t: Trial): never {
  return t.lack(
    'a device that polls by itself and picks up all its messages at each poll (sendsPerPoll)',
  );
}

/** A message's statuses and times, for reports. */
export function describeLife(life: RecordedLife): string {
  return life.sightings
    .map(({ status, at }) => `${status} (+${(at / 1000).toFixed(1)} s)`)
    .join(', ');
}
