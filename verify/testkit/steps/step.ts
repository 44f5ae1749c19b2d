/**
 * A kind of step: the random values that it takes, and its effect on a session. A step is data and
 * names its targets by position, so it stays valid when fast-check removes the steps before it.
 */
import fc from 'fast-check';
import type { Session } from '../twin/session.ts';

export interface StepKind<Kind extends string, Fields> {
  readonly kind: Kind;
  /** How fast-check draws and shrinks the step. */
  readonly drawn: fc.Arbitrary<Fields & { kind: Kind }>;
  /** Plays the step; returns a description of it. */
  readonly play: (session: Session, step: Fields) => string;
}

export function stepKind<const Kind extends string, Fields extends object>(
  kind: Kind,
  fields: fc.Arbitrary<Fields>,
  play: (session: Session, step: Fields) => string,
): StepKind<Kind, Fields> {
  return { kind, drawn: fields.map((drawn) => ({ ...drawn, kind })), play };
}

/** A choice by weight. */
export function weighted<T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]) {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Draws `usual` in eleven of twelve cases: then most requests have at most one odd part. */
export function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return weighted([11, usual], [1, odd]);
}
