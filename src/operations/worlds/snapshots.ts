/** The operations that take and restore a snapshot: the state of a world, without full keys. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { restoreSnapshot } from '../../recording/state/restore-state.ts';
import { type Snapshot, snapshotSchema, stateFormat } from '../../recording/state/state-format.ts';
import { takeSnapshot } from '../../recording/state/take-state.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { conflict } from '../../sim/errors.ts';
import { defineOperation, WholeReply } from '../define.ts';
import type { RunningWorld } from '../running-world.ts';
import { clockState, clockStateSchema } from '../views.ts';

/** The largest snapshot that the control port sends or accepts. */
const snapshotLimitBytes = 256 * 1_048_576;

/** A snapshot as text; refused if it is too large to be restored. */
export function snapshotText(snapshot: Snapshot, limitBytes = snapshotLimitBytes): string {
  const text = textOf(snapshot);
  if (text !== undefined && Buffer.byteLength(text) <= limitBytes) return text;
  throw conflict(`the state is larger than the ${limitBytes} bytes of the largest snapshot`);
}

/** The snapshot as JSON; undefined if that exceeds the longest possible string. */
function textOf(snapshot: Snapshot): string | undefined {
  try {
    return JSON.stringify(snapshot);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const inputSchema = z.preprocess(
  (value, context) => {
    const isOtherFormat =
      typeof value === 'object' &&
      value !== null &&
      'snapshot' in value &&
      value.snapshot !== stateFormat;
    if (!isOtherFormat) return value;
    const message =
      `expected snapshot format ${stateFormat}; restore this one with the version that took it, ` +
      'or take it again';
    context.issues.push({ code: 'custom', message, path: ['snapshot'], input: value.snapshot });
    return z.NEVER;
  },
  snapshotSchema.meta({ id: 'Snapshot' }),
) as unknown as z.ZodType<Snapshot, Snapshot>;

export const snapshots = {
  take: defineOperation({
    http: 'GET /control/snapshot',
    fleet: { scope: 'named' },
    summary: 'The whole state, without full keys.',
    output: snapshotSchema.meta({ id: 'Snapshot' }),
    refusals: [409],
    run: (live) => takeSnapshot(live),
    reply: (snapshot) => new WholeReply({ status: 200, body: snapshotText(snapshot) }),
  }),

  restore: defineOperation({
    http: 'PUT /control/snapshot',
    fleet: { scope: 'named', changesRoutes: true },
    summary: 'Continues from a snapshot as if its simulator had never stopped.',
    input: inputSchema,
    bodyLimitBytes: snapshotLimitBytes,
    output: clockStateSchema,
    recorded: 'snapshot.restore',
    run: (live, snapshot) => restoreInto(live, snapshot),
    reply: (_, live) => clockState(live),
  }),
};

/** Continues from a snapshot. `keyTexts`: texts of keys besides those of the present world. */
export function restoreInto(
  live: RunningWorld,
  snapshot: Snapshot,
  keyTexts: ReadonlyMap<string, string> = new Map(),
): void {
  const { settings, simulation, wallClock, activity } = live;
  const texts = new Map([...keyTexts, ...knownKeys(simulation.world)]);
  live.replace(restoreSnapshot(snapshot, { settings, keyTexts: texts }));
  wallClock.setMode(snapshot.clock.mode, snapshot.clock.rate);
  if (activity.hasAudience) activity.publish('clock', clockState(live));
}

/** The texts of the current keys by digest. Most snapshots are restored in their own world. */
export function knownKeys(world: Registry): Map<string, string> {
  const keyTexts = new Map<string, string>();
  for (const { key } of world.keys.values()) if (key !== '') keyTexts.set(hash('sha256', key), key);
  return keyTexts;
}
