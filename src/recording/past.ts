/**
 * Plays a recorded run up to an earlier instant: after a line of its journal, or at a simulated time
 * since the last reset or restored snapshot. Yields between slices.
 */
import { isoTime } from '../sim/clock.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import type { Entry, OperationEntry } from './journal-entry.ts';
import { readHeader } from './journal-header.ts';
import type { RecordedRun } from './journal-lines.ts';
import type { Player } from './play.ts';
import { playingFrom } from './resume.ts';

export type Instant = { readonly entry: number } | { readonly timeMs: number };

export interface Extent {
  /** The last line. */
  readonly lines: number;
  /** The line with which simulated time last began anew, and that time. */
  readonly startLine: number;
  readonly startMs: number;
}

const entriesAtOnce = 64;

export function* extentOf({ name, header, entries }: RecordedRun): Generator<undefined, Extent> {
  const { started_at: startedAt, checkpoint } = readHeader(header, name);
  let lines = 1;
  let startLine = 1;
  let startMs = Date.parse(checkpoint?.at ?? startedAt);
  for (const entry of entries) {
    if (++lines % entriesAtOnce === 0) yield;
    const anewMs = 'operation' in entry ? newTimeOf(entry) : undefined;
    if (anewMs === undefined) continue;
    startLine = lines;
    startMs = anewMs;
  }
  return { lines, startLine, startMs };
}

/** The simulated time that a reset or a restored snapshot sets. */
function newTimeOf({ operation, args, result }: OperationEntry): number | undefined {
  if (!result.startsWith('sha256:')) return undefined;
  if (operation === 'reset') return Number(args[0]);
  if (operation !== 'snapshot.restore') return undefined;
  return (args[0] as { readonly clock: { readonly now_ms: number } }).clock.now_ms;
}

/** The caller holds the simulator's wall clock. */
export function* playUntil(
  simulator: Player,
  run: RecordedRun,
  instant: Instant,
): Generator<undefined, void> {
  const extent = yield* extentOf(run);
  check(instant, extent);
  const lines = { ...run, entries: entriesUntil(run.entries, instant, extent) };
  const header = readHeader(run.header, run.name);
  const { differences } = yield* playingFrom(simulator, lines, header, run.name);
  const [first] = differences;
  if (first !== undefined) {
    throw refusal(`line ${first.line} of the journal does not play as it was recorded`);
  }
  if ('timeMs' in instant) simulator.simulation.clock.advanceTo(instant.timeMs);
}

function check(instant: Instant, { lines, startMs }: Extent): void {
  if ('entry' in instant) {
    if (instant.entry <= lines) return;
    throw new OperationRefused('invalid', `the journal has ${lines} lines`, 'entry');
  }
  if (instant.timeMs >= startMs) return;
  throw refusal(`the journal holds no earlier instant than ${isoTime(startMs)}`);
}

function* entriesUntil(
  entries: Iterable<Entry>,
  instant: Instant,
  { startLine }: Extent,
): Generator<Entry> {
  let line = 1;
  for (const entry of entries) {
    line++;
    if ('entry' in instant) {
      if (line > instant.entry) return;
    } else if (line > startLine) {
      if (Date.parse(entry.at) > instant.timeMs) return;
      // It may lead past the instant; the time of what follows moves the clock as far.
      if ('operation' in entry && onlyMovesTime.has(entry.operation)) continue;
    }
    yield entry;
  }
}

const onlyMovesTime: ReadonlySet<string> = new Set(['clock.advance', 'messages.wait']);

function refusal(message: string): OperationRefused {
  return new OperationRefused('conflict', message);
}
