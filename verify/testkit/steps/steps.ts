/**
 * All steps of random runs: every kind of step, how often it is drawn, and how it is played. The
 * model's sequences, the laws and the examples of assumptions play these steps.
 */
import type fc from 'fast-check';
import type { ComparedRun } from '../twin/compared-run.ts';
import * as control from './control.ts';
import * as reads from './reads.ts';
import * as sends from './sends.ts';
import { type StepKind, weighted } from './step.ts';
import * as time from './time.ts';

/** How often each kind is drawn. `assume` is not here, because its answers depend on the run. */
const kinds = [
  [8, sends.anySend],
  [10, sends.usualSend],
  [2, sends.rawSend],
  [8, sends.replay],
  [8, reads.read],
  [8, time.advance],
  [8, time.advanceToMoment],
  [1, control.createKey],
  [1, control.revokeKey],
  [4, control.patchSim],
  [4, reads.tasks],
  [2, control.pollNow],
  [2, control.inject],
  [2, reads.received],
  [2, reads.stats],
  [2, control.quota],
  [2, control.outcomes],
  [4, control.limit],
  [2, reads.burst],
  [2, reads.stranger],
  [2, reads.lost],
] as const;
const assumeWeight = 8;

type Drawn<K> = K extends StepKind<infer Kind, infer Fields> ? Fields & { kind: Kind } : never;
export type Step = Drawn<(typeof kinds)[number][1] | ReturnType<typeof control.assumeWith>>;

type Play = (run: ComparedRun, step: Step) => string;
const plays = new Map<string, Play>([
  ...kinds.map(([, { kind, play }]) => [kind, play as unknown as Play] as const),
  ['assume', control.assume as Play],
]);

export function playStep(run: ComparedRun, step: Step): string {
  const description = plays.get(step.kind)?.(run, step) ?? `no step is called ${step.kind}`;
  run.step += 1;
  return description;
}

/** Any step; `assume` switches to these answers, and without them it is not drawn. */
export function anyStep(answers?: control.Answers): fc.Arbitrary<Step> {
  const drawn = kinds.map(([weight, kind]) => [weight, kind.drawn as fc.Arbitrary<Step>] as const);
  if (answers === undefined) return weighted(...drawn);
  return weighted<Step>(...drawn, [assumeWeight, control.assumeWith(answers).drawn]);
}
