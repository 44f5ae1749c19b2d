/**
 * The first line of a journal: the settings that another process needs to start the run again, and
 * the name of the checkpoint from which the journal continues, if any. Explicit keys are stored as
 * digests, so a replay accepts the same keys without knowing their text.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { mistakeLine } from '#io/mistakes.ts';
import { reasonOf } from '#io/plain-file.ts';
import { smstwinVersion } from '#io/shipped-files.ts';
import { isIntact, JournalError } from '#judging/evidence/journal-line.ts';
import { otherThanJournal } from '#judging/evidence/traffic-file.ts';
import { mistakesInSettings } from '../../config/given-assumptions.ts';
import {
  parseSettings,
  type Settings,
  type SettingsInput,
  startTimeSchema,
} from '../../config/settings.ts';
import { type KeyDigest, shownPrefix } from '../../sim/accounts/account.ts';

/**
 * Since format 2, each line ends with a checksum, and an operation has the field `operation`
 * instead of `lever`. Since format 3, a reply that is a JSON object is not quoted.
 */
const journalFormat = 3;
export const readFormats = [1, 2, journalFormat] as const;

const checkpointSchema = z.strictObject({
  number: z.int().min(1),
  file: z
    .string()
    .regex(/^[^/\\]+$/, { error: 'expected a name without a folder' })
    .describe('Next to the journal.'),
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  at: z.iso.datetime(),
  inputs: z.int().min(0).describe('Inputs from the start of the run up to it.'),
});
/** Names a checkpoint file. The inputs in the journal follow it. */
export type Checkpoint = Readonly<z.output<typeof checkpointSchema>>;

const hostedSchema = z.strictObject({
  number: z.int().min(1).describe('How many ids of worlds were drawn, its own included.'),
  ttl_ms: z.number().positive().exactOptional(),
  // A restart removes a fork whose first input, the copied state, was not recorded.
  is_fork: z.boolean().exactOptional(),
  created_at: z.iso.datetime().exactOptional(),
  forked_from: z.strictObject({ world_id: z.string(), at: z.iso.datetime() }).exactOptional(),
});
/** What a restart needs to know of a world that a user created, besides its run. */
export type HostedHeader = Readonly<z.output<typeof hostedSchema>>;

export const headerSchema = z.object({
  journal: z.literal(readFormats).describe('The first field: a journal is known by it.'),
  smstwin: z.string(),
  seed: z.number(),
  started_at: z
    .string()
    .refine((time) => startTimeSchema.safeParse(time).success, {
      error: 'expected a valid start time',
    })
    .describe('The simulated time at the start.'),
  settings: z.record(z.string(), z.unknown(), { error: 'expected an object' }),
  world: hostedSchema.exactOptional().describe('Present if a user created the world.'),
  checkpoint: checkpointSchema.exactOptional(),
});
export type JournalHeader = Readonly<z.output<typeof headerSchema>>;
type JournalSettings = JournalHeader['settings'];

/** The digests of keys whose text is not known, by their placeholders in the settings. */
export type KeyDigests = ReadonlyMap<string, KeyDigest>;
const noDigests: KeyDigests = new Map();

/** The digest of a key's text, for files that must not hold the key. */
export function digestOfKey(key: string): string {
  return hash('sha256', key);
}

/** The header of a new journal. `world`: set for a world that a user created. */
export function headerOf(
  settings: Settings,
  startedAtMs: number,
  world?: HostedHeader,
  keyDigests = noDigests,
): JournalHeader {
  return {
    journal: journalFormat,
    smstwin: smstwinVersion(),
    seed: settings.seed,
    started_at: isoTime(startedAtMs),
    settings: journalSettings(settings, keyDigests),
    ...(world !== undefined && { world }),
  };
}

/**
 * The settings that decide how a run proceeds, nearly in the form that `parseSettings` reads:
 * `settingsOfHeader` turns the digests of keys and a bound clock into that form.
 */
function journalSettings(settings: Settings, keyDigests: KeyDigests): JournalSettings {
  const { name, clock, rate, startTimeMs, retryAfterSeconds, seed, world } = settings;
  const { assumptions, limits, noLimits, maxMessages, trustProxy } = settings;
  return {
    ...(name !== undefined && { name }),
    clock,
    ...(clock === 'scaled' && { rate }),
    ...(clock === 'manual' && { startTime: startTimeMs }),
    ...(retryAfterSeconds === 'real' && { retryAfterSeconds }),
    seed,
    assumptions,
    limits,
    noLimits,
    ...(maxMessages !== undefined && { maxMessages }),
    trustProxy,
    world: {
      ...world,
      accounts: world.accounts.map((account) => ({
        ...account,
        keys: account.keys.map(({ name, key }) =>
          key === undefined ? { name } : { name, ...fieldsOfKey(key, keyDigests) },
        ),
      })),
    },
  };
}

function fieldsOfKey(key: string, digests: KeyDigests): { key_sha256: string; prefix: string } {
  const digest = digests.get(key);
  if (digest !== undefined) return { key_sha256: digest.sha256, prefix: digest.prefix };
  return { key_sha256: digestOfKey(key), prefix: shownPrefix(key) };
}

/** The error for a file that is not a journal. `opening`: how it begins. */
export function notAJournal(name: string, opening: string): JournalError {
  return new JournalError(`${name}: not a journal of smstwin: it is ${otherThanJournal(opening)}`);
}

/** Parses a header. `name`: the file, for error messages. Throws a JournalError. */
export function readHeader(line: string, name: string): JournalHeader {
  const damaged = (how: string) => new JournalError(`${name}: the first line is damaged: ${how}`);
  let header: unknown;
  try {
    header = JSON.parse(line);
  } catch {
    if (line.startsWith('{"journal":')) throw damaged('it is not JSON');
    throw notAJournal(name, line);
  }
  const { journal: format } = Object(header);
  if (format === undefined) throw notAJournal(name, line);
  if (!readFormats.some((each) => each === format)) {
    const formats = `this version reads formats ${readFormats.join(', ')}`;
    throw new JournalError(
      `${name}: journal format ${format}; ${formats}: use the version that wrote it`,
    );
  }
  if (format !== 1 && isIntact(line) !== true) throw damaged('its checksum differs');
  const reading = headerSchema.safeParse(header, { reportInput: true });
  if (reading.success) return reading.data;
  const [mistake = ''] = mistakesInSettings(reading.error).map(mistakeLine);
  throw damaged(mistake);
}

/** Throws a JournalError if the journal was recorded with other settings. */
export function checkSameSettings(
  found: JournalHeader,
  settings: Settings,
  name: string,
  keyDigests = noDigests,
): void {
  // Parsed again, since a field that is undefined is absent in the journal.
  const text = JSON.stringify(journalSettings(settings, keyDigests));
  const present = JSON.parse(text) as JournalSettings;
  for (const field of new Set([...Object.keys(present), ...Object.keys(found.settings)])) {
    if (JSON.stringify(present[field]) === JSON.stringify(found.settings[field])) continue;
    throw new JournalError(
      `${name}: recorded with another ${field}; start with the same settings, or name a new file`,
    );
  }
}

/** The settings of a journal, and the placeholders for keys that it knows only by digest. */
export function settingsOfHeader(
  header: JournalHeader,
  name: string,
): { readonly settings: SettingsInput; readonly keyDigests: KeyDigests } {
  const keyDigests = new Map<string, KeyDigest>();
  const settings = structuredClone(header.settings) as unknown as {
    clock?: unknown;
    startTime?: unknown;
    world: { accounts: { keys: Record<string, string>[] }[] };
  };
  // A replay moves the clock to the time of each input, as it cannot call the bound function.
  if (settings.clock === 'bound') {
    settings.clock = 'manual';
    settings.startTime = header.started_at;
  }
  try {
    for (const key of settings.world.accounts.flatMap(({ keys }) => keys)) {
      const { key_sha256: digest, prefix = '' } = key;
      if (digest === undefined) continue;
      // No client can use this placeholder: the digest replaces it before the first request.
      key['key'] = `sha256=${digest}`;
      keyDigests.set(key['key'], { sha256: digest, prefix });
      delete key['key_sha256'];
      delete key['prefix'];
    }
    parseSettings(settings);
    return { settings: settings as unknown as SettingsInput, keyDigests };
  } catch (error) {
    throw new JournalError(
      `${name}: cannot read the settings of the first line: ${reasonOf(error)}`,
    );
  }
}
