/**
 * An example of an assumption, and helpers that examples share.
 */
import type { AssumptionName } from '../../../src/sim/assumptions.ts';
import type { Scene } from '../scene.ts';

type Shown = readonly (readonly [answer: unknown, shown: string])[];

export interface Example {
  /** The same for all answers, so that the results show the difference. */
  readonly scene: (scene: Scene) => string;
  /** Start time, if it matters. */
  readonly startsAt?: string;
  /** Each answer with the result of the scene; the default first. */
  readonly shows: Shown;
  /** More answers to try, if any number or text is valid. */
  readonly more?: readonly unknown[];
  /** The answers with which the harness is tested, default first, if not all of these. */
  readonly judged?: readonly unknown[];
}

export type Examples = Partial<Record<AssumptionName, Example>>;

export function answers(...shown: Shown): Shown {
  return shown;
}

export const unauthenticated = { authorization: undefined };

export function ahead(scene: Scene, byMs: number, zone = 'Z'): string {
  return new Date(scene.session.model.nowMs + byMs).toISOString().replace('Z', zone);
}

/** Sends until a refusal; returns how many passed and the wait in the refusal. */
export function exhaust(scene: Scene): { passed: number; waitSeconds: number } {
  for (let passed = 0; ; passed += 1) {
    const reply = scene.send();
    if (reply.status === 429)
      return { passed, waitSeconds: Number(reply.headers?.['retry-after']) };
  }
}
