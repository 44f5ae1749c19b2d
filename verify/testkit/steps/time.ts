/** Steps of the clock: by a duration, or to a moment at which something changes. */
import fc from 'fast-check';
import { dayMs, isoTime, minuteMs } from '#contract/time.ts';
import { itemAt } from '../twin/callers.ts';
import type { ComparedRun } from '../twin/compared-run.ts';
import { caller, position, stepKind, weighted } from './step.ts';

/** Milliseconds around the periods of the service: polls, minutes, hours, days. */
const advancesMs = [
  1, 7, 999, 1000, 3333, 5000, 10_000, 19_999, 20_000, 20_001, 59_999, 60_000, 60_001, 90_500,
  600_000, 3_599_999, 43_200_000, 86_399_999, 86_400_000, 86_400_001,
];

export const advance = stepKind(
  'advance',
  fc.record({
    byMs: weighted(
      [8, fc.constantFrom(...advancesMs)],
      [3, fc.nat({ max: 120_000 })],
      [1, fc.constantFrom(30 * dayMs, 31 * dayMs + 1)],
    ),
  }),
  (run, { byMs }) => advanceTo(run, run.model.nowMs + byMs),
);

/**
 * `hold`: the end of a hold. `window`: a `request_id` is forgotten. `limit`: the wait of the last
 * 429 is over. `thirty_days`: a message no longer counts for a quota of 30 days.
 */
type Moment = 'poll' | 'hold' | 'window' | 'limit' | 'minute' | 'month' | 'thirty_days';

export const advanceToMoment = stepKind(
  'advance_to',
  fc.record({
    // A poll and a limit are drawn twice as often.
    what: fc.constantFrom<Moment>(
      'poll',
      'poll',
      'hold',
      'window',
      'limit',
      'limit',
      'minute',
      'month',
      'thirty_days',
    ),
    who: caller,
    index: position,
    offsetMs: fc.constantFrom(-1000, -1, 0, 0, 1),
  }),
  (run, { what, who, index, offsetMs }) => {
    const { nowMs } = run.model;
    const moment = momentOf(run, what, who, index) ?? nowMs;
    return advanceTo(run, Math.max(nowMs, moment + offsetMs));
  },
);

function advanceTo(run: ComparedRun, ms: number): string {
  run.advanceTo(ms);
  return `until ${isoTime(ms)}`;
}

/** A moment at which something changes; undefined if there is no such moment. */
function momentOf(run: ComparedRun, what: Moment, who: number, index: number): number | undefined {
  const { nowMs, assumptions } = run.model;
  const messages = run.callers.messagesOf(who);
  switch (what) {
    case 'poll': {
      const first = itemAt(run.callers.simsOf(who), index)?.firstPollAtMs;
      if (first === undefined) return undefined;
      const intervalMs = Number(assumptions.pollIntervalSeconds) * 1000;
      return first + Math.max(0, Math.floor((nowMs - first) / intervalMs) + 1) * intervalMs;
    }
    case 'hold': {
      // Without holds until the year 9999, whose end would skip all other moments.
      const soon = messages.filter(
        ({ dueAtMs }) => dueAtMs > nowMs && dueAtMs < nowMs + 400 * dayMs,
      );
      return itemAt(soon, index)?.dueAtMs;
    }
    case 'window': {
      const identified = messages.filter(({ requestId }) => requestId !== '');
      return later(itemAt(identified, index)?.createdAtMs, dayMs);
    }
    case 'limit': {
      const refusal = run.callers.of(who).lastRefusal;
      return later(refusal?.atMs, (refusal?.retryAfterSeconds ?? 0) * 1000);
    }
    case 'minute':
      return Math.ceil((nowMs + 1) / minuteMs) * minuteMs;
    case 'month': {
      const now = new Date(nowMs);
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    }
    case 'thirty_days':
      return later(itemAt(messages, index)?.createdAtMs, 30 * dayMs);
  }
}

function later(ms: number | undefined, byMs: number): number | undefined {
  return ms === undefined ? undefined : ms + byMs;
}
