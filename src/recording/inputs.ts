/**
 * Maps the name that a journal records for an operation to the call that repeats it.
 */

import type { LimitOverrides } from '../config/world-schema.ts';
import type { AccountInput, AccountPatch, KeyInput } from '../operations/accounts.ts';
import type { OutcomesInput } from '../operations/behaviour.ts';
import { clock } from '../operations/clock.ts';
import { type Noun, play, recordedName } from '../operations/define.ts';
import type { FaultInput } from '../operations/faults.ts';
import type { FailInput } from '../operations/messages.ts';
import type { ReceivedInput, SimInput, SimPatch } from '../operations/sims.ts';
import type { WaitInput } from '../operations/wait.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import type { Simulator } from '../simulator.ts';
import type { Snapshot } from './snapshot-format.ts';

type Input = (simulator: Simulator, args: readonly unknown[]) => unknown;

/** Each operation checks its own input, so these casts claim nothing that is not verified. */
const inputs: Readonly<Record<string, Input>> = {
  reset: (s, [startMs]) => s.resetAt(startMs as number),
  ...replayed(clock),
  'accounts.create': (s, [input]) => s.accounts.create(input as AccountInput),
  'accounts.patch': (s, [id, input]) => s.accounts.patch(id as string, input as AccountPatch),
  'accounts.delete': (s, [id]) => s.accounts.delete(id as string),
  'accounts.createKey': (s, [id, input]) => s.accounts.createKey(id as string, input as KeyInput),
  'accounts.revokeKey': (s, [id]) => s.accounts.revokeKey(id as string),
  'sims.create': (s, [id, input]) => s.sims.create(id as string, input as SimInput),
  'sims.patch': (s, [id, input]) => s.sims.patch(id as string, input as SimPatch),
  'sims.poll': (s, [id]) => s.sims.poll(id as string),
  'sims.receive': (s, [id, input]) => s.sims.receive(id as string, input as ReceivedInput),
  'messages.progress': (s, [id]) => s.messages.progress(id as string),
  'messages.fail': (s, [id, input]) => s.messages.fail(id as string, input as FailInput),
  'messages.wait': (s, [input]) => s.messages.advanceUntil(input as WaitInput),
  'limits.patch': (s, [input]) => s.limits.patch(input as LimitOverrides),
  'limits.reset': (s) => s.limits.reset(),
  'assumptions.patch': (s, [input]) => s.assumptions.patch(input as Partial<Assumptions>),
  'outcomes.put': (s, [input]) => s.outcomes.put(input as OutcomesInput),
  'faults.add': (s, [input]) => s.faults.add(input as FaultInput),
  'faults.remove': (s, [id]) => s.faults.remove(id as string),
  'snapshot.restore': (s, [snapshot]) => s.snapshots.restore(snapshot as Snapshot),
  'faults.clear': (s) => s.faults.clear(),
};

function replayed(noun: Noun): Record<string, Input> {
  const recorded = Object.values(noun).filter((operation) => operation.recorded);
  return Object.fromEntries(
    recorded.map((operation) => [
      recordedName(operation),
      (simulator: Simulator, args: readonly unknown[]) => play(operation, simulator, args),
    ]),
  );
}

/** Returns the call that repeats a recorded input, or undefined if no operation has this name. */
export function inputOf(lever: string): Input | undefined {
  return Object.hasOwn(inputs, lever) ? inputs[lever] : undefined;
}
