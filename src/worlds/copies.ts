/**
 * Copies of a world. A fork copies its state at one instant, clock included, into a new world. That
 * gets its own API keys and random streams, which follow from its seed and name. A rebuilt world is
 * the same world as of an earlier instant. Assumes: keyFormat.
 */

import { hash } from 'node:crypto';
import { readHeader, settingsOfHeader } from '../recording/journal/journal-header.ts';
import { type PastInstant, playUntil } from '../recording/past.ts';
import { restoreSnapshot } from '../recording/state/restore-state.ts';
import type { Snapshot } from '../recording/state/state-format.ts';
import { takeSnapshot } from '../recording/state/take-state.ts';
import { shownPrefix } from '../sim/accounts/account.ts';
import type { Registry } from '../sim/accounts/registry.ts';
import { type Assumptions, defaultAssumptions } from '../sim/assumptions.ts';
import { drawKey } from '../sim/random.ts';
import type { CreateSimulator, WorldSimulator } from './hosted-world.ts';

/** Copies the state of `source` into `copy`, a new simulator without any history. */
export function copyInto(copy: WorldSimulator, source: WorldSimulator): void {
  const original = source.wallClock.atOneMoment(() => takeSnapshot(source));
  const { snapshot, keyTexts } = withNewKeysAndStreams(original, copy.simulation.world);
  const { mode, rate } = snapshot.clock;
  // The copy's journal starts with this input, as if a user had restored the snapshot.
  copy.change('snapshot.restore', [snapshot], () => {
    copy.replace(restoreSnapshot(snapshot, { settings: copy.settings, keyTexts }));
    copy.wallClock.setMode(mode, rate);
  });
}

/**
 * Rebuilds a world as of an earlier instant from its journal, calls `use`, and closes it. The
 * rebuilt world is in no list, and its clock stays where the journal leads it. Throws a
 * JournalError, or an OperationRefused for an instant that the journal does not contain.
 */
export function* rebuildAt<S extends WorldSimulator, T>(
  source: S,
  instant: PastInstant,
  create: CreateSimulator<S>,
  use: (rebuilt: S) => T,
): Generator<undefined, T> {
  const run = source.recordedRun();
  const header = readHeader(run.header, run.name);
  const { settings, keyDigests } = settingsOfHeader(header, run.name);
  const startAtMs = Date.parse(header.started_at);
  const rebuilt = create(settings, { worldId: '', journal: false, startAtMs, keyDigests });
  try {
    rebuilt.wallClock.hold();
    yield* playUntil(rebuilt, run, instant);
    return use(rebuilt);
  } finally {
    void rebuilt.close();
  }
}

/** The new text of a key in a fork; `world` is the fork before it has copied anything. */
export function forkedKey(
  world: Registry,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  keyFormat: Assumptions['keyFormat'] = defaultAssumptions.keyFormat,
): string {
  return drawKey(world.chance(`fork:${accountId}:${keyId}`), keyFormat);
}

type RngWords = Snapshot['counters']['pool_ids'];

/** The snapshot for the fork, and the texts of its keys by their digests. */
function withNewKeysAndStreams(
  snapshot: Snapshot,
  world: Registry,
): { readonly snapshot: Snapshot; readonly keyTexts: ReadonlyMap<string, string> } {
  const { keyFormat } = snapshot.assumptions;
  const keyTexts = new Map<string, string>();
  const stateOf = (label: string): RngWords => [...world.chance(label).state];
  const accounts = snapshot.accounts.map((account) => {
    const keys = account.keys.map((key) => {
      const ids = { accountId: account.account_id, keyId: key.key_id };
      const text = forkedKey(world, ids, keyFormat);
      keyTexts.set(hash('sha256', text), text);
      return { ...key, sha256: hash('sha256', text), prefix: shownPrefix(text) };
    });
    const stream = `fork:${account.account_id}`;
    const chance = {
      ids: stateOf(`${stream}:ids`),
      fates: stateOf(`${stream}:fates`),
      paces: stateOf(`${stream}:paces`),
    };
    return { ...account, keys, chance };
  });
  const counters = { ...snapshot.counters, pool_ids: stateOf('fork:pool') };
  return { snapshot: { ...snapshot, accounts, counters }, keyTexts };
}
