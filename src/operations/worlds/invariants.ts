/**
 * Checks a world: the invariants of its state (`src/simulation/invariants/`), and whether its
 * snapshot restores to the same state. Rules: STATE-1 to STATE-5, SEND-4.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { eachOf } from '../../config/each-of.ts';
import { restoreSnapshot } from '../../recording/state/restore-state.ts';
import { type Snapshot, snapshotSchema } from '../../recording/state/state-format.ts';
import { takeSnapshot } from '../../recording/state/take-state.ts';
import { Findings, mostLines } from '../../simulation/invariants/findings.ts';
import { walk } from '../../simulation/invariants/walk.ts';
import { readInput } from '../input.ts';
import type { RunningWorld } from '../running-world.ts';

const countSchema = z.int().min(0);
const checkedNames = Object.keys(new Findings().checked) as (keyof Findings['checked'])[];

export const invariantsQuerySchema = z
  .strictObject({
    snapshot: z
      .enum(['true', 'false'])
      .default('true')
      .describe('Also takes, restores and compares a snapshot.'),
  })
  .prefault({});

export const invariantsSchema = z
  .strictObject({
    sound: z.boolean(),
    checked: z
      .strictObject(eachOf(checkedNames, countSchema))
      .describe('How many of each were checked.'),
    broken: z
      .array(z.string())
      .max(mostLines)
      .describe('One line per finding, with its rule; empty if the state is sound.'),
  })
  .meta({ id: 'Invariants' });
type Invariants = Readonly<z.output<typeof invariantsSchema>>;

/** Checks everything, without changing it. */
export function invariantsOf(
  live: RunningWorld,
  { snapshot }: z.output<typeof invariantsQuerySchema>,
): Invariants {
  const found = walk(live.simulation);
  if (snapshot === 'true') checkRoundTrip(live, found);
  const { checked, broken } = found;
  return { sound: broken.length === 0, checked, broken };
}

/** Takes a snapshot, restores it, takes another, and compares the two. */
function checkRoundTrip({ simulation, settings, wallClock }: RunningWorld, found: Findings): void {
  try {
    const snapshot = readInput(
      snapshotSchema,
      JSON.parse(JSON.stringify(takeSnapshot({ simulation, wallClock }))),
    );
    const restored = restoreSnapshot(snapshot, { settings, known: new Map() });
    const again = takeSnapshot({ simulation: restored, wallClock });
    restored.stop();
    for (const part of Object.keys(snapshot) as (keyof Snapshot)[]) {
      if (isDeepStrictEqual(JSON.parse(JSON.stringify(again[part])), snapshot[part])) continue;
      found.report('snapshot', `restored, its ${part} are others`);
    }
  } catch (error) {
    found.report('snapshot', `is refused: ${error instanceof Error ? error.message : error}`);
  }
}
