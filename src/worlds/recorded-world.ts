/**
 * What the journal of a world gives back: the world as of an earlier instant, and its settings
 * after a restart of the server.
 */
import type { Settings, SettingsInput } from '../config/settings.ts';
import {
  type JournalHeader,
  readHeader,
  settingsOfHeader,
} from '../recording/journal/journal-header.ts';
import { type Instant, playUntil } from '../recording/past.ts';
import type { Make, WorldSimulator } from './hosted-world.ts';

/**
 * Rebuilds a world as of an earlier instant from its journal, calls `use`, and closes it. The
 * rebuilt world is in no list, and its clock stays where the journal leads it. Throws a
 * JournalError, or an OperationRefused for an instant that the journal does not contain.
 */
export function* rebuiltAt<S extends WorldSimulator, T>(
  source: S,
  instant: Instant,
  make: Make<S>,
  use: (rebuilt: S) => T,
): Generator<undefined, T> {
  const run = source.recordedRun();
  const header = readHeader(run.header, run.name);
  const { settings, keyDigests } = settingsOfHeader(header, run.name);
  const startAtMs = Date.parse(header.started_at);
  const rebuilt = make(settings, { worldId: '', journal: false, startAtMs, keyDigests });
  try {
    rebuilt.wallClock.hold();
    yield* playUntil(rebuilt, run, instant);
    return use(rebuilt);
  } finally {
    void rebuilt.close();
  }
}

/**
 * The recorded settings of a world. If it followed a bound clock, whose function no journal can
 * hold, it follows that of the server's first world.
 */
export function followingClockOf(
  first: Settings,
  recorded: SettingsInput,
  header: Pick<JournalHeader, 'settings'>,
): SettingsInput {
  const { clock, boundTo } = first;
  const wasBound = header.settings['clock'] === 'bound';
  if (!wasBound || clock !== 'bound' || boundTo === undefined) return recorded;
  const { startTime: _, ...untimed } = recorded;
  return { ...untimed, clock: { now: boundTo } };
}
