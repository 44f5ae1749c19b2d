/**
 * Plays a recorded run up to an earlier instant: after a line of its journal, or at a simulated
 * time since the last reset or restored snapshot. The generators yield between slices of the work,
 * so that ports can answer meanwhile.
 */
import { isoTime } from '#contract/time.ts';
import type { Entry, OperationEntry } from '#judging/evidence/journal-entry.ts';
import { conflict, OperationRefused } from '../sim/errors.ts';
import { playingFrom } from './checkpoint/resume.ts';
import { readHeader } from './journal/journal-header.ts';
import type { RecordedRun } from './journal/journal-lines.ts';
import type { ReplayTarget } from './play.ts';

/** `entry`: the number of a line in the journal. */
export type PastInstant = { readonly entry: number } | { readonly timeMs: number };

export interface Extent {
  readonly lastLine: number;
  /** The line that last set simulated time (the start, a reset or a restore), and that time. */
  readonly startLine: number;
  readonly startMs: number;
}

const entriesPerSlice = 64;

/** Finds the instants that a journal holds. Reads the whole journal. */
export function* extentOf({ name, header, entries }: RecordedRun): Generator<undefined, Extent> {
  const { started_at: startedAt, checkpoint } = readHeader(header, name);
  let line = 1;
  let startLine = 1;
  let startMs = Date.parse(checkpoint?.at ?? startedAt);
  for (const entry of entries) {
    line++;
    if (line % entriesPerSlice === 0) yield;
    const newTimeMs = 'operation' in entry ? newTimeOf(entry) : undefined;
    if (newTimeMs === undefined) continue;
    startLine = line;
    startMs = newTimeMs;
  }
  return { lastLine: line, startLine, startMs };
}

/** The simulated time that a reset or a restored snapshot sets; undefined for other entries. */
function newTimeOf({ operation, args, result }: OperationEntry): number | undefined {
  // The result of an accepted operation is a digest.
  const isRefused = !result.startsWith('sha256:');
  if (isRefused) return undefined;
  if (operation === 'reset') return Number(args[0]);
  if (operation !== 'snapshot.restore') return undefined;
  return (args[0] as { readonly clock: { readonly now_ms: number } }).clock.now_ms;
}

/**
 * Plays the run up to an instant. The caller has stopped the wall clock. Throws an OperationRefused
 * if the journal does not contain the instant.
 */
export function* playUntil(
  simulator: ReplayTarget,
  run: RecordedRun,
  instant: PastInstant,
): Generator<undefined, void> {
  const extent = yield* extentOf(run);
  checkInside(instant, extent);
  const runUntil = { ...run, entries: entriesUntil(run.entries, instant, extent) };
  const header = readHeader(run.header, run.name);
  const { differences } = yield* playingFrom(simulator, runUntil, header, run.name);
  const [first] = differences;
  if (first !== undefined)
    throw conflict(`line ${first.line} of the journal does not play as it was recorded`);
  if ('timeMs' in instant) simulator.simulation.clock.advanceTo(instant.timeMs);
}

function checkInside(instant: PastInstant, { lastLine, startMs }: Extent): void {
  if ('entry' in instant) {
    if (instant.entry <= lastLine) return;
    throw new OperationRefused('invalid', `the journal has ${lastLine} lines`, 'entry');
  }
  if (instant.timeMs >= startMs) return;
  throw conflict(`the journal holds no earlier instant than ${isoTime(startMs)}`);
}

function* entriesUntil(
  entries: Iterable<Entry>,
  instant: PastInstant,
  { startLine }: Extent,
): Generator<Entry> {
  let line = 1;
  for (const entry of entries) {
    line++;
    if ('entry' in instant) {
      if (line > instant.entry) return;
    } else if (line > startLine) {
      if (Date.parse(entry.at) > instant.timeMs) return;
      // It may lead past the instant. The times of later entries move the clock instead.
      if ('operation' in entry && onlyMovesTime.has(entry.operation)) continue;
    }
    yield entry;
  }
}

const onlyMovesTime: ReadonlySet<string> = new Set(['clock.advance', 'messages.wait']);
