/**
 * An example of an assumption: a short scene whose result shows which answer is in force; and the
 * steps that several examples use.
 */
import type { AssumptionName } from '#contract/assumptions.ts';
import type { Scene } from '../twin/scene.ts';

/** Answers, each with the result of the scene under it. */
type Shown = readonly (readonly [answer: unknown, result: string])[];

export interface Example {
  /** Plays the scene, which is the same for all answers, and returns what a caller notices. */
  readonly scene: (scene: Scene) => string;
  /** Start time, if it matters. */
  readonly startsAt?: string;
  /** The default answer comes first. */
  readonly shows: Shown;
  /** More answers to try, if any number or text is valid. */
  readonly more?: readonly unknown[];
  /** The answers with which the harness is tested, default first, if not all of these. */
  readonly judged?: readonly unknown[];
}

export type Examples = Partial<Record<AssumptionName, Example>>;

/** Gives the list of `shows` its type. */
export function answers(...rows: Shown): Shown {
  return rows;
}

export const unauthenticated = { authorization: undefined };

/** A `send_at` that lies `byMs` after the present. */
export function ahead(scene: Scene, byMs: number, zone = 'Z'): string {
  return new Date(scene.model.nowMs + byMs).toISOString().replace('Z', zone);
}

/** Sends until a refusal; returns how many passed and the wait in the refusal. */
export function exhaust(scene: Scene): { passed: number; waitSeconds: number } {
  for (let passed = 0; ; passed += 1) {
    const reply = scene.send();
    if (reply.status === 429)
      return { passed, waitSeconds: Number(reply.headers?.['retry-after']) };
  }
}
